import type { Certificate } from './certificate.ts';
import { extensionsIn } from './certificate-extensions.ts';
import { decodeCertificate } from './decode-certificate.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { isIssuedBy, possibleIssuers, type Verifications, verifications } from './issued-by.ts';

/** What a server showed, and what it is verified with. Certificates are DER. */
export interface ShownByServer {
  /** The serving certificate first, then those sent along. */
  readonly chain: readonly Uint8Array[];
  /** Trusted as they are, with or without a root above them. */
  readonly authorities: readonly Uint8Array[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A serving certificate that has expired and is valid otherwise; or the OpenSSL code of what else is wrong with it. */
export type ExpiredProof =
  | { readonly ok: true; readonly leaf: Certificate }
  | { readonly ok: false; readonly code: ExpiredRefusal };

export type ExpiredRefusal =
  | 'CERT_HAS_EXPIRED'
  | 'CERT_NOT_YET_VALID'
  | 'CERT_REJECTED'
  | 'INVALID_CA'
  | 'INVALID_PURPOSE'
  | 'PATH_LENGTH_EXCEEDED'
  | 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';

/** Certificates between a server's and a CA; a cluster has none or one. */
const MAX_INTERMEDIATES = 4;
const MAX_SENT = 10;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/**
 * Whether a serving certificate would be trusted if it had not expired. OpenSSL reports only the last error of a chain,
 * which is the expiry of the serving certificate whatever else is wrong. So everything else is checked here: that every
 * CA is valid now, each signature, purposes, path lengths, strength of keys and digests. Anything not understood is
 * rejected: critical extensions, name constraints. The name of the server and possession of the key are not checked.
 * Pure, never throws, and bounded whatever was sent.
 *
 * Source: RFC 5280 §6.1; OpenSSL, `X509_verify_cert` with `X509_V_FLAG_PARTIAL_CHAIN`, `check_purpose_ssl_server`,
 * security level 2.
 */
export function proveExpired({ chain, authorities, now }: ShownByServer): ExpiredProof {
  const [leaf, ...sentAlong] = chain.slice(0, MAX_SENT).map(readLink);
  if (leaf === undefined) return refused('CERT_REJECTED');
  const { certificate, extensions } = leaf;
  if (now < certificate.notBefore) return refused('CERT_NOT_YET_VALID');
  // Then a CA above it has expired.
  if (now <= certificate.notAfter) return refused('CERT_HAS_EXPIRED');
  if (isWeak(certificate) || !extensions.understood) return refused('CERT_REJECTED');
  if (!servesServers(certificate) || !extensions.signsHandshakes) return refused('INVALID_PURPOSE');
  const code = refusalOfIssuers(
    leaf,
    sentAlong.filter((link) => link !== undefined),
    authorities.map(readLink).filter((link) => link !== undefined),
    now,
  );
  return code === undefined ? { ok: true, leaf: certificate } : refused(code);
}

function refused(code: ExpiredRefusal): ExpiredProof {
  return { ok: false, code };
}

/** A certificate, with the extensions that matter only in a chain. */
interface Link {
  readonly certificate: Certificate;
  readonly extensions: ChainExtensions;
}

interface Step {
  readonly link: Link;
  /** Certificates below the issuer to find, without the serving certificate. */
  readonly intermediates: number;
}

/** Undefined if some chain is valid. */
function refusalOfIssuers(
  leaf: Link,
  sentAlong: readonly Link[],
  authorities: readonly Link[],
  now: number,
): ExpiredRefusal | undefined {
  const made = verifications();
  const seen = new Set<string>();
  const open: Step[] = [{ link: leaf, intermediates: 0 }];
  let refusal: ExpiredRefusal | undefined;
  for (let step = open.shift(); step !== undefined; step = open.shift()) {
    const { link, intermediates } = step;
    for (const issuer of issuersOf(link, authorities, made)) {
      const code = refusalOfIssuer(issuer, intermediates, now);
      if (code === undefined) return undefined;
      refusal ??= code;
    }
    if (intermediates === MAX_INTERMEDIATES) continue;
    for (const issuer of issuersOf(link, sentAlong, made)) {
      const { certificate } = issuer;
      // A root is trusted only as one of the authorities; and for a self-issued certificate, a weak signature is not
      // reported.
      if (certificate.selfIssued || seen.has(certificate.fingerprint)) continue;
      seen.add(certificate.fingerprint);
      const code =
        refusalOfIssuer(issuer, intermediates, now) ??
        (certificate.weakSignature === undefined ? undefined : 'CERT_REJECTED');
      if (code === undefined) open.push({ link: issuer, intermediates: intermediates + 1 });
      else refusal ??= code;
    }
  }
  return refusal ?? 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
}

function issuersOf({ certificate }: Link, among: readonly Link[], made: Verifications): readonly Link[] {
  const links = new Map(among.map((link) => [link.certificate, link]));
  return possibleIssuers(certificate, [...links.keys()])
    .filter((issuer) => isIssuedBy(certificate, issuer, made) === true)
    .flatMap((issuer) => links.get(issuer) ?? []);
}

function refusalOfIssuer(
  { certificate, extensions }: Link,
  intermediates: number,
  now: number,
): ExpiredRefusal | undefined {
  if (!extensions.isAuthority || !extensions.signsCertificates) return 'INVALID_CA';
  if (now > certificate.notAfter) return 'CERT_HAS_EXPIRED';
  if (now < certificate.notBefore) return 'CERT_NOT_YET_VALID';
  if (intermediates > extensions.pathLength) return 'PATH_LENGTH_EXCEEDED';
  if (!servesServers(certificate)) return 'INVALID_PURPOSE';
  return certificate.weakKey === undefined && extensions.understood ? undefined : 'CERT_REJECTED';
}

function isWeak({ weakKey, weakSignature }: Certificate): boolean {
  return weakKey !== undefined || weakSignature !== undefined;
}

/** OpenSSL requires it of CAs too, and does not accept `anyExtendedKeyUsage` for it. */
function servesServers({ extendedKeyUsages }: Certificate): boolean {
  return extendedKeyUsages === undefined || extendedKeyUsages.includes(SERVER_AUTH);
}

function readLink(der: Uint8Array): Link | undefined {
  const decoded = decodeCertificate(der);
  if (!decoded.ok) return undefined;
  try {
    return { certificate: decoded.certificate, extensions: readChainExtensions(decoded.certificate.der) };
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

interface ChainExtensions {
  /** From basicConstraints, which version 1 does not have. */
  readonly isAuthority: boolean;
  /** The most intermediates allowed below it. */
  readonly pathLength: number;
  /** From keyUsage; without it, everything is allowed. */
  readonly signsCertificates: boolean;
  readonly signsHandshakes: boolean;
  /** False if it has a restriction that is not checked here. */
  readonly understood: boolean;
}

const KEY_USAGE = '2.5.29.15';
const BASIC_CONSTRAINTS = '2.5.29.19';
/** Extensions that may be critical: keyUsage, subjectAltName, basicConstraints, extKeyUsage. */
const UNDERSTOOD: ReadonlySet<string> = new Set([KEY_USAGE, '2.5.29.17', BASIC_CONSTRAINTS, '2.5.29.37']);
/** nameConstraints restrict even if they are not critical. */
const NAME_CONSTRAINTS = '2.5.29.30';

/** RFC 5280 §4.2.1.3, from the first bit: digitalSignature, keyEncipherment and keyAgreement; keyCertSign. */
const HANDSHAKE_BITS = 0x80 | 0x20 | 0x08;
const CERTIFICATE_BIT = 0x04;

/** @param der of a certificate that was decoded before. */
function readChainExtensions(der: Buffer): ChainExtensions {
  const what = 'extensions';
  const read = {
    isAuthority: false,
    pathLength: Infinity,
    signsCertificates: true,
    signsHandshakes: true,
    understood: true,
  };
  const signed = new DerReader(der).enter(TAG.sequence, what).enter(TAG.sequence, what);
  while (!signed.atEnd && signed.nextTag !== 0xa3) signed.enterAny(what);
  if (signed.atEnd) return read;
  for (const { oid, critical, value } of extensionsIn(signed.enter(0xa3, what))) {
    if (oid === NAME_CONSTRAINTS || (critical && !UNDERSTOOD.has(oid))) read.understood = false;
    if (oid === BASIC_CONSTRAINTS) Object.assign(read, readBasicConstraints(value));
    if (oid === KEY_USAGE) {
      const bits = value.octets(TAG.bitString, what)[1] ?? 0;
      read.signsCertificates = (bits & CERTIFICATE_BIT) !== 0;
      read.signsHandshakes = (bits & HANDSHAKE_BITS) !== 0;
    }
  }
  return read;
}

function readBasicConstraints(value: DerReader): Pick<ChainExtensions, 'isAuthority' | 'pathLength'> {
  const what = 'basicConstraints';
  const sequence = value.enter(TAG.sequence, what);
  const isAuthority = sequence.nextTag === TAG.boolean && sequence.octets(TAG.boolean, what)[0] !== 0;
  if (sequence.nextTag !== TAG.integer) return { isAuthority, pathLength: Infinity };
  const [length = 0, ...more] = sequence.octets(TAG.integer, what);
  // A length that is negative or beyond any chain allows no intermediates.
  return { isAuthority, pathLength: more.length > 0 || length >= 0x80 ? 0 : length };
}
