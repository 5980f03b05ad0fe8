import { hash } from 'node:crypto';
import { printable } from '../printable.ts';
import type { Certificate, DecodedCertificate } from './certificate.ts';
import { type CertificateExtensions, NO_EXTENSIONS, readExtensions } from './certificate-extensions.ts';
import { readCertificateKey } from './certificate-key.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { goRefusal } from './go-refusal.ts';
import { readNameText } from './name-text.ts';

/** A certificate with 100 names of 253 characters takes 30 KiB. */
export const MAX_CERTIFICATE_BYTES = 64 * 1024;

/** Octets of a serial number that are shown. RFC 5280 §4.1.2.2 allows 20. */
const MAX_SERIAL_OCTETS = 64;

/**
 * Reads one certificate in DER. Never throws, and takes bounded time for any bytes: no signature is verified.
 *
 * A request must have the same reading here and at its signer, but a certificate is already signed. So every string
 * type, order and extension of X.509 version 1 to 3 is accepted; invalid DER and duplicates are not.
 *
 * OpenSSL, through `node:crypto`, takes several times as long, exposes no key identifiers, and overlooks broken or
 * duplicate extensions.
 */
export function decodeCertificate(der: Uint8Array): DecodedCertificate {
  if (der.length > MAX_CERTIFICATE_BYTES) {
    return { ok: false, problem: `${der.length} bytes found, ${MAX_CERTIFICATE_BYTES} allowed` };
  }
  try {
    // A copy: the buffer around it may be large, or change.
    return { ok: true, certificate: readCertificate(Buffer.from(der)) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { ok: false, problem: printable(error.message) };
  }
}

/** RFC 5280 §4.1. */
function readCertificate(der: Buffer): Certificate {
  const input = new DerReader(der);
  const outer = input.enter(TAG.sequence, 'certificate');
  input.finish('certificate');
  const signed = outer.enter(TAG.sequence, 'certificate to be signed');
  const algorithm = readEncoded(outer, 'signature algorithm');
  outer.octets(TAG.bitString, 'signature');
  outer.finish('certificate');

  const version = signed.nextTag === 0xa0 ? readVersion(signed.enter(0xa0, 'version')) : 1;
  const serialNumber = hexSerial(signed.octets(TAG.integer, 'serial number'));
  if (!readEncoded(signed, 'signature algorithm').equals(algorithm)) {
    throw new Refused('UnexpectedStructure', 'signature algorithm: inside and outside differ');
  }
  const issuer = readNameText(signed, 'issuer');
  const validity = signed.enter(TAG.sequence, 'validity');
  const notBefore = readTime(validity, 'notBefore');
  const notAfter = readTime(validity, 'notAfter');
  validity.finish('validity');
  const subject = readNameText(signed, 'subject');
  const key = readCertificateKey(signed);
  // Unique identifiers, which are not used in practice.
  while (signed.nextTag === 0x81 || signed.nextTag === 0x82) signed.enterAny('unique identifier');
  if (version < 3 && !signed.atEnd) {
    throw new Refused('UnexpectedStructure', `extensions: version ${version} has none`);
  }
  const { authority, ...extensions } = signed.atEnd ? NO_EXTENSIONS : readExtensions(signed.enter(0xa3, 'extensions'));
  signed.finish('certificate to be signed');

  const selfIssued = subject.encoded.equals(issuer.encoded) && namesItsOwnKey(extensions);
  const digest = weakDigest(algorithm);
  const [commonName, ...furtherCommonNames] = subject.commonNames;
  return {
    notBefore,
    notAfter,
    subject: subject.text,
    issuer: issuer.text,
    commonName: commonName === undefined || furtherCommonNames.length > 0 ? undefined : commonName,
    organizations: subject.organizations,
    serialNumber,
    fingerprint: hash('sha256', der),
    // Version 1 has no extension for this; its roots are CAs nevertheless.
    isAuthority: authority ?? (version === 1 && selfIssued),
    selfIssued,
    ...key,
    // Nothing relies on the signature of a root over itself.
    ...(digest === undefined || selfIssued ? {} : { weakSignature: `signed with ${digest}, which can be forged` }),
    ...extensions,
    refused: goRefusal(der),
    der,
  };
}

/** True without key identifiers too. OpenSSL recognizes roots by the same rule (`X509_check_akid`). */
function namesItsOwnKey({ subjectKeyId, authorityKeyId }: CertificateExtensions): boolean {
  return subjectKeyId === undefined || authorityKeyId === undefined || subjectKeyId === authorityKeyId;
}

function readEncoded(reader: DerReader, what: string): Buffer {
  const start = reader.position;
  reader.enter(TAG.sequence, what);
  return reader.bytesSince(start);
}

function readVersion(explicit: DerReader): number {
  const octets = explicit.octets(TAG.integer, 'version');
  explicit.finish('version');
  const [value] = octets;
  if (octets.length === 1 && value !== undefined && value <= 2) return value + 1;
  throw new Refused('UnexpectedStructure', 'version: none of 1, 2 and 3');
}

/**
 * Magnitude in hexadecimal, whole octets, as OpenSSL writes it; `-` before a negative one, which RFC 5280 forbids and
 * some CAs issued.
 */
function hexSerial(octets: Buffer): string {
  if (octets.length === 0) throw new Refused('NotDer', 'serial number: an INTEGER without content');
  const value = BigInt.asIntN(octets.length * 8, BigInt(`0x${octets.toString('hex')}`));
  const digits = (value < 0n ? -value : value).toString(16);
  const hex = digits.padStart(digits.length + (digits.length % 2), '0');
  const most = 2 * MAX_SERIAL_OCTETS;
  return `${value < 0n ? '-' : ''}${hex.slice(0, most)}${hex.length > most ? '…' : ''}`;
}

const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

// RFC 5280 §4.1.2.5 requires seconds and Z; some older certificates lack seconds or have an offset, and still mean one
// instant.
const UTC = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})$/;
const GENERALIZED = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d{1,9})?(Z|[+-]\d{4})$/;

/**
 * Reads the next value as a Time (RFC 5280 §4.1.2.5). Milliseconds since the epoch; negative before 1970.
 *
 * @throws Refused without a time zone
 */
function readTime(reader: DerReader, what: string): number {
  const tag = reader.nextTag;
  if (tag !== UTC_TIME && tag !== GENERALIZED_TIME) throw new Refused('UnexpectedStructure', `${what}: no time found`);
  const octets = reader.octets(tag, what);
  const text = octets.toString('latin1');
  const found = (tag === UTC_TIME ? UTC : GENERALIZED).exec(text);
  if (found === null) throw new Refused('UnexpectedStructure', `${what}: not a time in UTC`);
  const [, digits = '', month, day, hour, minute, second = '00', zone = 'Z'] = found;
  // Two-digit years are 1950 to 2049.
  const year = tag === GENERALIZED_TIME ? digits : `${Number(digits) < 50 ? 20 : 19}${digits}`;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // Date accepts hour 24, and day 31 of every month, as the day after.
  if (new Date(time).getUTCDate() !== Number(day)) {
    throw new Refused('UnexpectedStructure', `${what}: ${text} does not exist`);
  }
  return time - offsetMs(zone);
}

function offsetMs(zone: string): number {
  const size = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  return (zone.startsWith('-') ? -size : size) * 60_000;
}

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
function weakDigest(algorithm: Buffer): string | undefined {
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
