import { DAY_MS, MINUTE_MS } from '../time.ts';

/** How far the clock of a machine may be from that of its management cluster. */
export const CLOCK_TOLERANCE_MS = 10 * MINUTE_MS;

/** What kubeadm and etcdadm make where nothing else is asked for. */
const DEFAULT_VALIDITY_DAYS = 365;

export interface MadeSince {
  /** When the rollout began. Milliseconds since the epoch, as all times here. */
  readonly since: number;
  readonly now: number;
  /** `certificateValidityPeriodDays` of the control plane. @default 365 */
  readonly validityDays?: number;
}

/**
 * Whether a certificate shows that it was made since. Pure.
 *
 * Its start does not tell: kubeadm and etcdadm let every leaf start when its authority does (`NewSignedCert` in cmd/kubeadm/app/util/pkiutil/pki_helpers.go sets
 * `NotBefore: caCert.NotBefore`), and end a fixed span after it was made (365 days, or `certificateValidityPeriodDays`). So it was made since when it starts since
 * (other issuers), or when its end less that span lies between then and now. Whatever was made earlier with that validity ends too soon to pass, and what has
 * another validity than the control plane asks for does not pass: better a person looks once too often. Whoever asks has to see to it that the machine
 * itself was made since; this is the second proof, not the only one.
 */
export function madeSince(
  certificate: { readonly notBefore: number; readonly notAfter: number },
  { since, now, validityDays = DEFAULT_VALIDITY_DAYS }: MadeSince,
): boolean {
  const { notBefore, notAfter } = certificate;
  if (!(notBefore <= now + CLOCK_TOLERANCE_MS) || !(notAfter > now)) return false;
  const earliest = since - CLOCK_TOLERANCE_MS;
  if (notBefore >= earliest) return true;
  const made = notAfter - validityDays * DAY_MS;
  return made >= earliest && made <= now + CLOCK_TOLERANCE_MS;
}
