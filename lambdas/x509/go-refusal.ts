import { isAscii, isUtf8 } from 'node:buffer';
import { type CertificateExtension, extensionsIn } from './certificate-extensions.ts';
import { UTC_TIME } from './certificate-time.ts';
import { DerReader, Refused, TAG } from './der.ts';
import { OID } from './object-identifiers.ts';

/**
 * Why Go, and so kubectl, kube-apiserver, kubelets and controllers, refuses a certificate that is readable here;
 * undefined if it does not.
 *
 * Not looked at, as they cost more than the rest together: a key that is no point of its curve, URIs, and the names in
 * name constraints.
 *
 * Source: Go 1.26, crypto/x509/parser.go, and cryptobyte.
 */
export function goRefusal(der: Buffer): string | undefined {
  try {
    readCertificate(new DerReader(der).enter(TAG.sequence, 'certificate'));
    return undefined;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return error.message;
  }
}

function readCertificate(outer: DerReader): void {
  const signed = outer.enter(TAG.sequence, 'certificate to be signed');
  const version = signed.nextTag === 0xa0 ? signed.enter(0xa0, 'version').integer('version')[0] : 0;
  if (isNegative(signed.integer('serial number'))) throw refused('serial number: it is negative');
  readAlgorithm(signed, 'signature algorithm');
  readName(signed, 'issuer');
  const validity = signed.enter(TAG.sequence, 'validity');
  readTime(validity, 'notBefore');
  readTime(validity, 'notAfter');
  readName(signed, 'subject');
  readKey(signed.enter(TAG.sequence, 'public key'));
  while (signed.nextTag === 0x81 || signed.nextTag === 0x82) signed.enterAny('unique identifier');
  if (version === 2 && !signed.atEnd) {
    for (const extension of extensionsIn(signed.enter(0xa3, 'extensions'))) readExtension(extension);
  }
  outer.enter(TAG.sequence, 'signature algorithm');
  readBits(outer, 'signature');
}

function refused(message: string): Refused {
  return new Refused('UnexpectedStructure', message);
}

function isNegative([first = 0]: Buffer): boolean {
  return first >= 0x80;
}

interface Algorithm {
  readonly oid: string;
  /** The encoding; empty if absent. */
  readonly parameters: Buffer;
}

function readAlgorithm(reader: DerReader, what: string): Algorithm {
  const sequence = reader.enter(TAG.sequence, what);
  const oid = sequence.objectIdentifier(what);
  const start = sequence.position;
  if (!sequence.atEnd) sequence.enterAny(what);
  return { oid, parameters: sequence.bytesSince(start) };
}

/** Go formats what it parsed and compares: so it refuses an offset of zero. */
const ZONE = '(?:Z|[+-](?!0000)(?:[01][0-9]|2[0-4])[0-5][0-9])';
const UTC = new RegExp(`^(?:[0-9]{10}|[0-9]{12})${ZONE}$`);
const GENERALIZED = new RegExp(`^[0-9]{14}${ZONE}$`);

function readTime(reader: DerReader, what: string): void {
  const tag = reader.nextTag;
  const text = reader.octets(tag, what).toString('latin1');
  if ((tag === UTC_TIME ? UTC : GENERALIZED).test(text)) return;
  throw refused(`${what}: ${text.includes('.') ? 'it has a fraction of a second' : 'its offset is zero, not Z'}`);
}

function readName(reader: DerReader, what: string): void {
  const names = reader.enter(TAG.sequence, what);
  while (!names.atEnd) {
    const set = names.enter(TAG.set, what);
    while (!set.atEnd) {
      const attribute = set.enter(TAG.sequence, what);
      attribute.objectIdentifier(what);
      const isText = STRINGS.get(attribute.nextTag);
      if (isText?.(attribute.octets(attribute.nextTag, what)) !== true)
        throw refused(`${what}: a string of another type than its characters`);
    }
  }
}

/** The characters of each string type; `*` and `&` in the second as in Go. */
const STRINGS: ReadonlyMap<number, (value: Buffer) => boolean> = new Map([
  [TAG.utf8String, isUtf8],
  [TAG.printableString, (value) => /^[A-Za-z0-9 '()+,\-./:=?*&]*$/.test(value.toString('latin1'))],
  [TAG.numericString, (value) => /^[0-9 ]*$/.test(value.toString('latin1'))],
  [TAG.ia5String, isAscii],
  [TAG.teletexString, () => true],
  [TAG.bmpString, isBmp],
]);

/** UCS-2 without surrogates and non-characters. */
function isBmp(value: Buffer): boolean {
  if (value.length % 2 !== 0) return false;
  for (let at = 0; at < value.length; at += 2) {
    const point = value.readUInt16BE(at);
    if (point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) || (point >= 0xd800 && point <= 0xdfff)) return false;
  }
  return true;
}

/** A BIT STRING whose padding is zeros. */
function readBits(reader: DerReader, what: string): Buffer {
  const octets = reader.octets(TAG.bitString, what);
  const [padding = 8] = octets;
  const last = octets.length > 1 ? (octets.at(-1) ?? 0) : 0xff;
  if (padding > 7 || (last & ((1 << padding) - 1)) !== 0) throw refused(`${what}: a BIT STRING with wrong padding`);
  return octets.subarray(1);
}

const KEY = 'public key';
const NULL = '0500';
/** Octets of an uncompressed point. */
const POINTS: Readonly<Record<string, number>> = {
  '06052b81040021': 57,
  '06082a8648ce3d030107': 65,
  '06052b81040022': 97,
  '06052b81040023': 133,
};

function readKey(info: DerReader): void {
  const { oid, parameters } = readAlgorithm(info, KEY);
  const key = readBits(info, KEY);
  switch (oid) {
    case OID.rsaEncryption: {
      if (parameters.toString('hex') !== NULL) throw refused(`${KEY}: RSA without NULL as parameters`);
      const sequence = new DerReader(key).enter(TAG.sequence, KEY);
      positive(sequence, `${KEY}: RSA modulus`);
      if (positive(sequence, `${KEY}: RSA exponent`).length > 8) throw refused(`${KEY}: RSA exponent above 64 bits`);
      return;
    }
    case OID.ecPublicKey:
      if (POINTS[parameters.toString('hex')] !== key.length || key[0] !== 4)
        throw refused(`${KEY}: no uncompressed point of P-224, P-256, P-384 or P-521`);
      return;
    case OID.ed25519:
    case '1.3.101.110':
      if (parameters.length > 0 || key.length !== 32) throw refused(`${KEY}: not 32 octets without parameters`);
      return;
    case '1.2.840.10040.4.1': {
      positive(new DerReader(key), `${KEY}: DSA`);
      const sequence = new DerReader(parameters).enter(TAG.sequence, `${KEY}: DSA`);
      for (const what of ['p', 'q', 'g']) positive(sequence, `${KEY}: DSA ${what}`);
    }
  }
}

function positive(reader: DerReader, what: string): Buffer {
  const octets = reader.integer(what);
  if (isNegative(octets) || octets.every((octet) => octet === 0)) throw refused(`${what} is not above zero`);
  return octets;
}

function unsigned(reader: DerReader, what: string): void {
  const octets = reader.integer(what);
  if (isNegative(octets) || octets.length > 8) throw refused(`${what}: a number below zero or above 63 bits`);
}

function readExtension({ oid, critical, value }: CertificateExtension): void {
  const [read, isNeverCritical] = EXTENSIONS.get(oid) ?? [];
  if (isNeverCritical === true && critical) throw refused(`extension ${oid}: it is critical`);
  read?.(value, `extension ${oid}`);
}

type Reader = (value: DerReader, what: string) => void;

/** Reads each value of a SEQUENCE. */
function each(read: Reader): Reader {
  return (value, what) => {
    const sequence = value.enter(TAG.sequence, what);
    while (!sequence.atEnd) read(sequence, what);
  };
}

/** Those that Go reads, and whether they must not be critical. RFC 5280 §4.2. */
const EXTENSIONS: ReadonlyMap<string, readonly [Reader, isNeverCritical?: true]> = new Map([
  ['2.5.29.14', [(value, what) => value.octets(TAG.octetString, what), true]],
  ['2.5.29.15', [readBits]],
  ['2.5.29.17', [each(readSubjectAltName)]],
  ['2.5.29.19', [readBasicConstraints]],
  ['2.5.29.30', [readNameConstraints]],
  ['2.5.29.31', [each(readDistributionPoint)]],
  ['2.5.29.32', [readPolicies]],
  [
    '2.5.29.33',
    [
      each((sequence, what) => {
        const mapping = sequence.enter(TAG.sequence, what);
        mapping.octets(TAG.objectIdentifier, what);
        mapping.octets(TAG.objectIdentifier, what);
      }),
    ],
  ],
  ['2.5.29.35', [(value, what) => readOptional(value.enter(TAG.sequence, what), 0x80, what), true]],
  ['2.5.29.37', [each((sequence, what) => sequence.objectIdentifier(what))]],
  ['2.5.29.54', [unsigned]],
  ['1.3.6.1.5.5.7.1.1', [each((sequence, what) => sequence.enter(TAG.sequence, what).objectIdentifier(what)), true]],
]);

function readOptional(reader: DerReader, tag: number, what: string): DerReader | undefined {
  return reader.nextTag === tag ? reader.enter(tag, what) : undefined;
}

function readSubjectAltName(names: DerReader, what: string): void {
  const tag = names.nextTag;
  const octets = names.enterAny(what).rest();
  const isIa5 = tag === 0x81 || tag === 0x82 || tag === 0x86;
  if (isIa5 && !isAscii(octets)) throw refused(`${what}: a name with other characters than ASCII`);
  if (tag === 0x87 && octets.length !== 4 && octets.length !== 16)
    throw refused(`${what}: an address of ${octets.length} octets`);
}

function readBasicConstraints(value: DerReader, what: string): void {
  const sequence = value.enter(TAG.sequence, what);
  if (sequence.nextTag === TAG.boolean) sequence.boolean(what);
  if (sequence.nextTag === TAG.integer) unsigned(sequence, what);
}

function readNameConstraints(value: DerReader, what: string): void {
  const sequence = value.enter(TAG.sequence, what);
  value.finish(what);
  const trees = [readOptional(sequence, 0xa0, what), readOptional(sequence, 0xa1, what)];
  sequence.finish(what);
  if (trees.every((tree) => tree?.atEnd !== false)) throw refused(`${what}: it is empty`);
  for (const tree of trees) {
    while (tree?.atEnd === false) {
      const base = tree.enter(TAG.sequence, what);
      const tag = base.nextTag;
      const octets = base.enterAny(what).rest();
      if (tag === 0x87 && octets.length !== 8 && octets.length !== 32) throw refused(`${what}: no range of addresses`);
    }
  }
}

function readDistributionPoint(points: DerReader, what: string): void {
  const name = readOptional(points.enter(TAG.sequence, what), 0xa0, what);
  const full = name?.enter(0xa0, what);
  while (full?.nextTag === 0x86) full.enterAny(what);
}

function readPolicies(value: DerReader, what: string): void {
  const policies = new Set<string>();
  each((sequence) => {
    const oid = sequence.enter(TAG.sequence, what).wideObjectIdentifier(what);
    if (policies.has(oid)) throw refused(`${what}: a policy twice`);
    policies.add(oid);
  })(value, what);
}
