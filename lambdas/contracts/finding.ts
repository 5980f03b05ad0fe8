import * as z from 'zod/mini';
import { FINDING_CODES, SEVERITIES } from '../tables/finding-codes.ts';
import { keysOf } from '../tables/keys.ts';
import type { Contract } from './contract.ts';
import { AnyTime, CertificateClassName, harmless, harmlessTexts, Name, Place, Sentence } from './observation.ts';
import { Count } from './values.ts';

/**
 * A certificate or state that will expire, has expired, or is unknown. Plain data; `code` and `object` together
 * identify it across audits.
 */
export const ExpiryFinding = z.object({
  code: z.enum(keysOf(FINDING_CODES)),
  severity: z.enum(SEVERITIES),
  cluster: Name,
  /** Its object: `kube-apiserver 10.0.1.31:6443`, `system:node:worker-3`, `source tls-secrets`. */
  object: Place,
  what: z.optional(CertificateClassName),
  /** Where it was seen, if at more places than `object`: the first of `placeCount`. */
  places: z.optional(harmlessTexts(400, 20)),
  placeCount: z.optional(Count),
  /** The whole story in one sentence, without a full stop. */
  message: Sentence,
  /** The first audit of the current, unbroken series that found it. RFC 3339. */
  since: AnyTime,
  /** When it is due; absent if now or unknown. */
  due: z.optional(AnyTime),
  /** Time of the last successful read, if it could not be read now. RFC 3339. */
  lastSeen: z.optional(AnyTime),
  renewedBy: z.optional(Name),
  command: harmless(1_000),
  /** Path in the repository: `docs/runbooks/….md`. */
  runbook: harmless(200),
});
export type ExpiryFinding = Contract<typeof ExpiryFinding>;

/** The stored form, without commands: those are made for display, never read from a place that others could write. */
export type KeptFinding = Omit<ExpiryFinding, 'command'>;
