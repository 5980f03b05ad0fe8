import { hash } from 'node:crypto';
import { printable } from '../printable.ts';
import type { Certificate, DecodedCertificate } from './certificate.ts';
import { type CertificateExtensions, NO_EXTENSIONS, readExtensions } from './certificate-extensions.ts';
import { readCertificateKey } from './certificate-key.ts';
import { readTime } from './certificate-time.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { goRefusal } from './go-refusal.ts';
import { readNameText } from './name-text.ts';
import { weakDigest } from './weak-signature.ts';

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
