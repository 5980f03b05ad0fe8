import { DerReader, TAG } from './der.ts';

/** Signature algorithms by the digest that makes them weak (RFC 3279, RFC 5758, OIW). */
const WEAK: ReadonlyMap<string, string> = new Map([
  ['1.2.840.113549.1.1.2', 'MD2'],
  ['1.2.840.113549.1.1.3', 'MD4'],
  ['1.2.840.113549.1.1.4', 'MD5'],
  ['1.2.840.113549.1.1.5', 'SHA-1'],
  ['1.2.840.10040.4.3', 'SHA-1'],
  ['1.2.840.10045.4.1', 'SHA-1'],
  ['1.3.14.3.2.13', 'SHA-1'],
  ['1.3.14.3.2.26', 'SHA-1'],
  ['1.3.14.3.2.27', 'SHA-1'],
  ['1.3.14.3.2.29', 'SHA-1'],
  ['1.3.14.3.2.3', 'MD5'],
  ['1.2.840.113549.2.5', 'MD5'],
]);

const RSASSA_PSS = '1.2.840.113549.1.1.10';

/**
 * The digest of a signature that an attacker could forge; undefined if none is known. `algorithm` is an
 * AlgorithmIdentifier.
 */
export function weakDigest(algorithm: Buffer): string | undefined {
  const what = 'signature algorithm';
  const reader = new DerReader(algorithm).enter(TAG.sequence, what);
  const oid = reader.wideObjectIdentifier(what);
  if (oid !== RSASSA_PSS) return WEAK.get(oid);
  // RFC 4055 §3.1: every parameter has a default, and that of the digest is SHA-1.
  if (reader.nextTag !== TAG.sequence) return undefined;
  const parameters = reader.enter(TAG.sequence, what);
  if (parameters.nextTag !== 0xa0) return 'SHA-1';
  const digest = parameters.enter(0xa0, what).enter(TAG.sequence, what);
  return WEAK.get(digest.wideObjectIdentifier(what));
}
