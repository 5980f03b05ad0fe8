import type { ExpiryFinding } from '../../contracts/finding.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import type { CommandWords } from '../commands.ts';

/** A finding before it is told since when it is one, and what to do. */
export type Draft = Pick<ExpiryFinding, 'code' | 'severity' | 'object' | 'message'> & {
  readonly what?: CertificateClass | undefined;
  readonly places?: readonly string[];
  readonly due?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastSeen?: number | undefined;
  readonly renewedBy?: string | undefined;
  /** For its command. */
  readonly words?: CommandWords;
  /** Overrides what the audits of before say of its beginning: RFC 3339. */
  readonly since?: string;
};
