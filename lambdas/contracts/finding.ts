import * as z from 'zod/mini';
import { FINDING_CODES, SEVERITIES } from '../tables/finding-codes.ts';
import { keysOf } from '../tables/keys.ts';
import type { Contract } from './contract.ts';
import { AnyTime, CertificateClassName, harmless, harmlessTexts, Name, Place, Sentence } from './observation.ts';
import { Count } from './values.ts';

/** Something that will expire, has expired, or is not known. Plain data; `code` and `object` together name it from one audit to the next. */
export const ExpiryFinding = z.object({
  code: z.enum(keysOf(FINDING_CODES)),
  severity: z.enum(SEVERITIES),
  cluster: Name,
  /** What it is about: `kube-apiserver 10.0.1.31:6443`, `system:node:worker-3`, `source tls-secrets`. */
  object: Place,
  what: z.optional(CertificateClassName),
  /** Where it was seen, when that is more than `object`: the first of `placeCount`. */
  places: z.optional(harmlessTexts(400, 20)),
  placeCount: z.optional(Count),
  /** The whole story in one sentence, without a full stop. */
  message: Sentence,
  /** RFC 3339: the first audit that found it, without a break. */
  since: AnyTime,
  /** When it is due; absent where that is now, or not known. */
  due: z.optional(AnyTime),
  /** How old the newest successful look is, where it could not be looked at now. RFC 3339. */
  lastSeen: z.optional(AnyTime),
  /** What or who renews the certificate. */
  renewedBy: z.optional(Name),
  /** The exact next command. */
  command: harmless(1_000),
  /** Path in the repository: `docs/runbooks/….md`. */
  runbook: harmless(200),
});
export type ExpiryFinding = Contract<typeof ExpiryFinding>;

/** As it is kept and sent: what a person runs is made where it is shown, never read from what someone may have written. */
export type KeptFinding = Omit<ExpiryFinding, 'command'>;
