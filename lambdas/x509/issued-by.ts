import { X509Certificate } from 'node:crypto';
import type { Certificate } from './certificate.ts';

/**
 * Signatures that are verified for one handshake; an honest chain takes 2 or 3, and a few more where authorities share a name. The slowest key that is
 * calculated with, P-521, takes up to 2 ms.
 */
export const VERIFICATIONS_A_HANDSHAKE = 24;

/** Signatures verified for one question. Whoever asks decides with it how long an answer may take, whatever was sent. */
export interface Verifications {
  /** Calculations so far. What was found out once is not calculated again. */
  readonly count: number;
  /** Whether the key of an authority made the signature of a certificate; undefined where that is not found out. Never throws. */
  isSignedBy(certificate: Certificate, authority: Certificate): boolean | undefined;
}

/** @param most after which nothing more is found out */
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

/** OpenSSL takes up to some milliseconds to read one, so each is read once. */
const parsed = new WeakMap<Certificate, X509Certificate>();

function verify(certificate: Certificate, authority: Certificate): boolean {
  try {
    return opened(certificate).verify(opened(authority).publicKey);
  } catch {
    // It is one that OpenSSL does not take, and nobody else does.
    return false;
  }
}

function opened(certificate: Certificate): X509Certificate {
  const before = parsed.get(certificate);
  if (before !== undefined) return before;
  const made = new X509Certificate(certificate.der);
  parsed.set(certificate, made);
  return made;
}

/**
 * Whether the key of an authority made the signature of a certificate, and the authority is what its issuer is called. Undefined where that is not found out: the
 * key is of a kind that is not calculated with, or enough was calculated. Never throws.
 */
export function isIssuedBy(
  certificate: Certificate,
  authority: Certificate,
  made: Verifications = verifications(1),
): boolean | undefined {
  return certificate.issuer === authority.subject && made.isSignedBy(certificate, authority);
}

/** Whether its own key made the signature of a certificate; undefined where that is not found out. */
export function isSelfSigned(certificate: Certificate, made?: Verifications): boolean | undefined {
  return certificate.selfIssued && isIssuedBy(certificate, certificate, made);
}

/** Those that may have issued a certificate, by their names; first those whose key it names, as Go does it: the identifiers are hints and may be wrong. */
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
