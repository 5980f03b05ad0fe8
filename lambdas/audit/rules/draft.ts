import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import type { CommandWords } from '../commands.ts';

/** A finding before its start, command and runbook are added. */
export type Draft = Pick<ExpiryFinding, 'code' | 'severity' | 'object' | 'message'> & {
  readonly what?: CertificateClass | undefined;
  readonly places?: readonly string[];
  readonly due?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastSeen?: number | undefined;
  readonly renewedBy?: string | undefined;
  /** Input of its command. */
  readonly words?: CommandWords;
  /** Its start, if known: RFC 3339. An earlier start in the previous audit wins. */
  readonly since?: string;
};
