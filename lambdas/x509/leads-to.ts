import type { Certificate } from './certificate.ts';
import { isIssuedBy } from './issued-by.ts';

/** Signatures that are verified for one question; a chain has 2 or 3. */
const MAX_LINKS = 100;

/** Whether one of the authorities signed a certificate, itself or by way of authorities that were sent along. Ends and purposes are not looked at. Never throws. */
export function leadsTo(
  certificate: Certificate,
  sentAlong: readonly Certificate[],
  authorities: readonly Certificate[],
): boolean {
  const trusted = new Set(authorities.map(({ fingerprint }) => fingerprint));
  const seen = new Set<string>();
  const open = [certificate];
  for (let next = open.pop(); next !== undefined && seen.size < MAX_LINKS; next = open.pop()) {
    const current = next;
    if (trusted.has(current.fingerprint)) return true;
    if (seen.has(current.fingerprint)) continue;
    seen.add(current.fingerprint);
    if (authorities.some((authority) => isIssuedBy(current, authority))) return true;
    open.push(
      ...sentAlong.filter((other) => other.isAuthority && !seen.has(other.fingerprint) && isIssuedBy(current, other)),
    );
  }
  return false;
}
