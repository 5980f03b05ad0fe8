import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { FindingCode } from '../../tables/finding-codes.ts';

/** A finding before its start is known. */
export type Draft<C extends FindingCode = FindingCode> = {
  readonly [K in C]: Pick<
    ExpiryFinding<K>,
    'code' | 'severity' | 'object' | 'what' | 'due' | 'renewedBy' | 'accepted' | 'facts'
  > & {
    readonly places?: readonly string[];
    /** Milliseconds since the epoch. */
    readonly lastSeen?: number | undefined;
    /** Its start, if known: RFC 3339. An earlier start in the previous audit wins. */
    readonly since?: string;
  };
}[C];
