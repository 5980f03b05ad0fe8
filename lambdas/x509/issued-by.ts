import { X509Certificate } from 'node:crypto';
import { onceForEach } from '../lazy.ts';
import type { Certificate } from './certificate.ts';

/**
 * Signatures verified for one handshake; an honest chain needs 2 or 3, and a few more if CAs share a name. The slowest
 * verified key, P-521, needs up to 2 ms.
 */
export const VERIFICATIONS_A_HANDSHAKE = 24;

/** Verifies and counts the signatures of one question. Its limit bounds the time of the answer, whatever was sent. */
export interface Verifications {
  /** Signatures verified so far. A repeated one counts once. */
  readonly count: number;
  /** Whether the key of a CA made the signature of a certificate; undefined if unknown. Never throws. */
  isSignedBy(certificate: Certificate, authority: Certificate): boolean | undefined;
}

/** @param most signatures; all further answers are unknown */
export function verifications(most: number = VERIFICATIONS_A_HANDSHAKE): Verifications {
  const known = new Map<string, boolean>();
  return {
    get count() {
      return known.size;
    },
    isSignedBy(certificate, authority) {
      if (!authority.verifiesFast) return undefined;
      const pair = `${certificate.fingerprint} ${authority.fingerprint}`;
      const before = known.get(pair);
      if (before !== undefined || known.size >= most) return before;
      const signed = verify(certificate, authority);
      known.set(pair, signed);
      return signed;
    },
  };
}

/** OpenSSL needs up to some milliseconds to parse one. */
const opened = onceForEach(({ der }: Certificate) => new X509Certificate(der));

function verify(certificate: Certificate, authority: Certificate): boolean {
  try {
    return opened(certificate).verify(opened(authority).publicKey);
  } catch {
    // OpenSSL rejects it, so it counts as not signed.
    return false;
  }
}

/**
 * Whether a CA has the name of a certificate's issuer, and its key made the signature. Undefined if unknown: keys of
 * this kind are not verified, or the limit of `made` is reached. Never throws.
 */
export function isIssuedBy(
  certificate: Certificate,
  authority: Certificate,
  made: Verifications = verifications(1),
): boolean | undefined {
  return certificate.issuer === authority.subject && made.isSignedBy(certificate, authority);
}

/** Whether its own key made the signature of a certificate; undefined if unknown. */
export function isSelfSigned(certificate: Certificate, made?: Verifications): boolean | undefined {
  return certificate.selfIssued && isIssuedBy(certificate, certificate, made);
}

/**
 * The possible issuers of a certificate, by name. Those with the key that it names come first, as in Go: the
 * identifiers are hints and may be wrong.
 */
export function possibleIssuers(certificate: Certificate, among: readonly Certificate[]): readonly Certificate[] {
  const { issuer, authorityKeyId } = certificate;
  const rank = ({ subjectKeyId }: Certificate): number => {
    if (authorityKeyId === undefined || subjectKeyId === undefined) return 1;
    return authorityKeyId === subjectKeyId ? 0 : 2;
  };
  return among.filter(({ subject }) => subject === issuer).toSorted((a, b) => rank(a) - rank(b));
}

/** Certificates between one and its root; a chain has 1 or 2. */
const MAX_DEPTH = 8;

/**
 * Whether one of the authorities signed a certificate, directly or through CAs that were sent along. Expiry and
 * purposes are not checked. Undefined if unknown, which a server can cause: that is no reason to trust it. Never
 * throws.
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
