import type { CertificateClass } from '../expiry/certificate-classes.ts';
import type { ExpiryFinding, Severity } from '../expiry/finding.ts';
import type { SourceId } from '../expiry/observation.ts';

/** What the fleet index keeps of the newest audit of a cluster; the rest is in its snapshot. */
export interface AuditSummary {
  /** RFC 3339, as all times here. */
  readonly auditedAt: string;
  readonly durationMs: number;
  readonly counts: Readonly<Record<Severity, number>>;
  /** The first ones of `findingCount`. */
  readonly findings: readonly ExpiryFinding[];
  readonly findingCount: number;
  /** Of each class the certificate that ends first, and how many there are. */
  readonly ends: readonly ClassEnd[];
  readonly sources: {
    readonly read: readonly SourceId[];
    readonly unread: readonly SourceId[];
    readonly off: readonly SourceId[];
  };
  /** Why the snapshot could not be read or written: the next audit then knows less of before. */
  readonly snapshotProblem?: string;
}

export interface ClassEnd {
  readonly what: CertificateClass;
  readonly count: number;
  readonly notBefore?: string;
  readonly notAfter: string;
  readonly where: string;
}
