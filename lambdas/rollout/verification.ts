import { DEFAULT_VALIDITY_DAYS } from '../resources/kubeadm-control-plane.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';

/** Largest clock skew between a machine and its management cluster. */
export const CLOCK_TOLERANCE_MS = 10 * MINUTE_MS;

export interface MadeSince {
  /** When the rollout began. Milliseconds since the epoch, as all times here. */
  readonly since: number;
  readonly now: number;
  /** `certificateValidityPeriodDays` of the control plane. @default 365 */
  readonly validityDays?: number;
}

/**
 * Whether a certificate was issued since the rollout began. Pure.
 *
 * Its notBefore does not tell: kubeadm and etcdadm date every leaf back to its CA (`NewSignedCert` in
 * cmd/kubeadm/app/util/pkiutil/pki_helpers.go sets `NotBefore: caCert.NotBefore`), and let it expire a fixed time after
 * it was issued (365 days, or `certificateValidityPeriodDays`). So it is new if its notBefore is since (other issuers),
 * or if its notAfter less that validity lies between then and now. An older one with that validity expires too soon to
 * pass, and one with another validity than the control plane's does not pass: a needless check by a person is better.
 * The caller must ensure that the machine itself is new; this is the second proof, not the only one.
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
