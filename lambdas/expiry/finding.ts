import type { CertificateClass } from '../tables/certificate-classes.ts';
import type { FindingCode, Severity } from '../tables/finding-codes.ts';

/** As it is kept and sent: what a person runs is made where it is shown, never read from what someone may have written. */
export type KeptFinding = Omit<ExpiryFinding, 'command'>;

/** Something that will bite, bites, or is not known. Plain data; `code` and `object` together name it from one audit to the next. */
export interface ExpiryFinding {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly cluster: string;
  /** What it is about: `kube-apiserver 10.0.1.31:6443`, `system:node:worker-3`, `source tls-secrets`. */
  readonly object: string;
  readonly what?: CertificateClass;
  /** Where it was seen, when that is more than `object`: the first of `placeCount`. */
  readonly places?: readonly string[];
  readonly placeCount?: number;
  /** The whole story in one sentence, without a full stop. */
  readonly message: string;
  /** RFC 3339: the first audit that found it, without a break. */
  readonly since: string;
  /** When it bites; absent where that is now, or cannot be told. */
  readonly due?: string;
  /** How old the newest successful look is, where it could not be looked at now. RFC 3339. */
  readonly lastSeen?: string;
  /** What renews the certificate by itself or by whom. */
  readonly renewedBy?: string;
  /** The exact next command. */
  readonly command: string;
  /** Path in the repository: `docs/runbooks/….md`. */
  readonly runbook: string;
}
