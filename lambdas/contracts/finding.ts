import * as z from 'zod/mini';
import { FINDING_CODES, type FindingCode, SEVERITIES } from '../tables/finding-codes.ts';
import { keysOf } from '../tables/keys.ts';
import type { Contract } from './contract.ts';
import { FACTS, type Facts, TEXT_LIMIT } from './facts.ts';
import { AnyTime, CertificateClassName, harmless, harmlessTexts, Name, Place } from './observation.ts';
import { Count } from './values.ts';

const COMMON = {
  severity: z.enum(SEVERITIES),
  cluster: Name,
  /** Its object: `kube-apiserver 10.0.1.31:6443`, `system:node:worker-3`, `source tls-secrets`. */
  object: Place,
  what: z.optional(CertificateClassName),
  /** Where it was seen, if at more places than `object`: the first of `placeCount`. */
  places: z.optional(harmlessTexts(2 * TEXT_LIMIT, 20)),
  placeCount: z.optional(Count),
  /** The first audit of the current, unbroken series that found it. RFC 3339. */
  since: AnyTime,
  /** When it is due; absent if now or unknown. */
  due: z.optional(AnyTime),
  /** Time of the last successful read, if it could not be read now. RFC 3339. */
  lastSeen: z.optional(AnyTime),
  renewedBy: z.optional(Name),
  /** By its owner, in fleet.yaml: it is only information until then. */
  accepted: z.optional(z.object({ until: AnyTime, reason: harmless(600) })),
};
const Common = z.object(COMMON);

/**
 * A certificate or state that will expire, has expired, or is unknown. Plain data; `code` and `object` together
 * identify it across audits. It has no sentence: `lambdas/words/findings.ts` makes that, and the next command.
 */
export type ExpiryFinding<C extends FindingCode = FindingCode> = {
  readonly [K in C]: Contract<typeof Common> & { readonly code: K; readonly facts: Facts<K> };
}[C];

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- never empty
const BY_CODE = keysOf(FINDING_CODES).map((code) =>
  z.object({ code: z.literal(code), ...COMMON, facts: FACTS[code] }),
) as unknown as readonly [z.ZodMiniObject<{ code: z.ZodMiniLiteral<FindingCode> }>];

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a row for each code, of which TypeScript sees only the sum
export const ExpiryFinding = z.discriminatedUnion('code', BY_CODE) as unknown as z.ZodMiniType<ExpiryFinding>;
