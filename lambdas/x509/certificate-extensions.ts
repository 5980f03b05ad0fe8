import { canonicalDnsName } from '../names.ts';
import { printable } from '../printable.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { addressText, MAX_NAMES } from './general-names.ts';

/** The longest DNS name (RFC 1035 §2.3.4). */
const MAX_DNS_NAME = 253;
const MAX_EXTENSIONS = 256;
const MAX_USAGES = 64;
/** Octets of a key identifier that are kept; SHA-1 has 20. */
const MAX_KEY_ID = 64;

/** The extensions of a certificate that are read; all others are skipped. */
export interface CertificateExtensions {
  /** `cA` of basicConstraints; undefined without that extension. */
  readonly authority?: boolean;
  readonly subjectKeyId?: string;
  readonly authorityKeyId?: string;
  readonly extendedKeyUsages?: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  readonly otherNames: boolean;
}

export const NO_EXTENSIONS: CertificateExtensions = { dnsNames: [], addresses: [], otherNames: false };

type Reader = (value: DerReader) => Partial<CertificateExtensions>;

/** RFC 5280 §4.2.1. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['2.5.29.14', (value) => ({ subjectKeyId: keyId(value.octets(TAG.octetString, 'subjectKeyIdentifier')) })],
  ['2.5.29.17', readSubjectAltName],
  ['2.5.29.19', readBasicConstraints],
  ['2.5.29.35', readAuthorityKeyId],
  ['2.5.29.37', readExtendedKeyUsage],
]);

/** Reads the next value as Extensions. */
export function readExtensions(reader: DerReader): CertificateExtensions {
  let extensions = NO_EXTENSIONS;
  for (const { oid, value } of extensionsIn(reader)) extensions = { ...extensions, ...READERS.get(oid)?.(value) };
  return extensions;
}

export interface CertificateExtension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: DerReader;
}

/**
 * Reads the next value as Extensions (RFC 5280 §4.1), one at a time.
 *
 * @throws Refused for a duplicate
 */
export function* extensionsIn(reader: DerReader): Generator<CertificateExtension> {
  const sequence = reader.enter(TAG.sequence, 'extensions');
  const seen = new Set<string>();
  while (!sequence.atEnd) {
    const extension = sequence.enter(TAG.sequence, 'extension');
    const oid = extension.wideObjectIdentifier('extension');
    if (seen.has(oid)) throw new Refused('UnexpectedStructure', `extension ${oid}: it appears twice`);
    if (seen.size === MAX_EXTENSIONS) throw new Refused('TooLarge', `more than ${MAX_EXTENSIONS} extensions`);
    seen.add(oid);
    const critical = extension.nextTag === TAG.boolean && extension.boolean('critical');
    const value = extension.octets(TAG.octetString, `extension ${oid}`);
    extension.finish(`extension ${oid}`);
    yield { oid, critical, value: new DerReader(value) };
  }
}

function readBasicConstraints(value: DerReader): Partial<CertificateExtensions> {
  const sequence = value.enter(TAG.sequence, 'basicConstraints');
  if (sequence.nextTag !== TAG.boolean) return { authority: false };
  // FF in DER; some issuers wrote 01.
  const octets = sequence.octets(TAG.boolean, 'basicConstraints');
  if (octets.length !== 1) throw new Refused('NotDer', 'basicConstraints: a BOOLEAN that is not one octet');
  return { authority: octets[0] !== 0 };
}

function readAuthorityKeyId(value: DerReader): Partial<CertificateExtensions> {
  const sequence = value.enter(TAG.sequence, 'authorityKeyIdentifier');
  if (sequence.nextTag !== 0x80) return {};
  return { authorityKeyId: keyId(sequence.octets(0x80, 'authorityKeyIdentifier')) };
}

function keyId(octets: Buffer): string {
  return octets.toString('hex', 0, MAX_KEY_ID);
}

function readExtendedKeyUsage(value: DerReader): Partial<CertificateExtensions> {
  const sequence = value.enter(TAG.sequence, 'extendedKeyUsage');
  const extendedKeyUsages: string[] = [];
  while (!sequence.atEnd) {
    if (extendedKeyUsages.length === MAX_USAGES)
      throw new Refused('TooLarge', `extendedKeyUsage: more than ${MAX_USAGES} usages`);
    extendedKeyUsages.push(sequence.wideObjectIdentifier('extendedKeyUsage'));
  }
  return { extendedKeyUsages };
}

function readSubjectAltName(value: DerReader): Partial<CertificateExtensions> {
  const sequence = value.enter(TAG.sequence, 'subjectAltName');
  const dnsNames: string[] = [];
  const addresses: string[] = [];
  let otherNames = false;
  while (!sequence.atEnd) {
    const tag = sequence.nextTag;
    const octets = sequence.enterAny('subjectAltName').rest();
    const full = dnsNames.length + addresses.length >= MAX_NAMES;
    const address = tag === 0x87 ? addressText(octets) : undefined;
    if (!full && tag === 0x82 && octets.length <= MAX_DNS_NAME) {
      dnsNames.push(canonicalDnsName(printable(octets.toString('latin1'), MAX_DNS_NAME)));
    } else if (!full && address !== undefined) {
      addresses.push(address);
    } else {
      otherNames = true;
    }
  }
  return { dnsNames, addresses, otherNames };
}
