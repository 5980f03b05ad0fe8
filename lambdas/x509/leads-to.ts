import type { Certificate } from './certificate.ts';
import { isIssuedBy, possibleIssuers } from './issued-by.ts';
import { type Verifications, verifications } from './verifications.ts';

/** Certificates between one and its root; a chain has 1 or 2. */
const MAX_DEPTH = 8;

/**
 * Whether one of the authorities signed a certificate, itself or by way of authorities that were sent along. Ends and purposes are not looked at. Undefined where
 * that is not found out, which a server can bring about: it is no reason to trust it. Never throws.
 */
export function leadsTo(
  certificate: Certificate,
  sentAlong: readonly Certificate[],
  authorities: readonly Certificate[],
  made: Verifications = verifications(),
): boolean | undefined {
  const trusted = new Set(authorities.map(({ fingerprint }) => fingerprint));
  const intermediates = sentAlong.filter(({ isAuthority }) => isAuthority);
  const seen = new Set<string>();
  const open = [{ current: certificate, depth: 0 }];
  let untold = false;
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { current, depth } = next;
    if (trusted.has(current.fingerprint)) return true;
    if (seen.has(current.fingerprint)) continue;
    seen.add(current.fingerprint);
    for (const authority of possibleIssuers(current, authorities)) {
      const issued = isIssuedBy(current, authority, made);
      if (issued === true) return true;
      untold ||= issued === undefined;
    }
    if (depth === MAX_DEPTH) continue;
    for (const other of possibleIssuers(current, intermediates)) {
      if (seen.has(other.fingerprint)) continue;
      const issued = isIssuedBy(current, other, made);
      if (issued === true) open.push({ current: other, depth: depth + 1 });
      untold ||= issued === undefined;
    }
  }
  return untold ? undefined : false;
}
