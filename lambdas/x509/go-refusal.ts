import { isAscii, isUtf8 } from 'node:buffer';
import { type CertificateExtension, extensionsIn } from './certificate-extensions.ts';
import { DerReader, MAX_ARC, Refused, TAG } from './der.ts';
import { OID } from './object-identifiers.ts';

/**
 * Why Go, and so kubectl, kube-apiserver, kubelets and controllers, refuses a certificate that is readable here;
 * undefined if it does not.
 *
 * Not looked at, as no issuer gets it wrong: the numbers of a key, DSA, URIs, and the inner form of other extensions.
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
  const [sign = 0] = signed.integer('serial number');
  if (sign >= 0x80) throw refused('serial number: it is negative');
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

function readAlgorithm(reader: DerReader, what: string): { readonly oid: string; readonly parameters: Buffer } {
  const sequence = reader.enter(TAG.sequence, what);
  const oid = sequence.objectIdentifier(what);
  const start = sequence.position;
  if (!sequence.atEnd) sequence.enterAny(what);
  return { oid, parameters: sequence.bytesSince(start) };
}

/** Go formats what it parsed, and compares. */
const ODD_TIME = /\.|[+-](?:0000|(?:2[5-9]|[3-9]\d)\d\d|\d\d[6-9]\d)$/;

function readTime(reader: DerReader, what: string): void {
  const text = reader.octets(reader.nextTag, what).toString('latin1');
  if (!ODD_TIME.test(text)) return;
  throw refused(`${what}: ${text.includes('.') ? 'it has a fraction of a second' : 'its time zone is not Z'}`);
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
const STRINGS: ReadonlyMap<number, (value: Buffer) => boolean> = new Map<number, (value: Buffer) => boolean>([
  [TAG.utf8String, isUtf8],
  [TAG.printableString, (value) => /^[A-Za-z0-9 '()+,\-./:=?*&]*$/.test(value.toString('latin1'))],
  [TAG.numericString, (value) => /^[0-9 ]*$/.test(value.toString('latin1'))],
  [TAG.ia5String, isAscii],
  [TAG.teletexString, () => true],
  // Two octets each, without halves of pairs and the code points that Unicode gives to no character.
  [TAG.bmpString, (value) => /^(?:(?![\xd8-\xdf]|\xfd[\xd0-\xef]|\xff[\xfe\xff])..)*$/s.test(value.toString('latin1'))],
]);

/** A BIT STRING whose padding is zeros. */
function readBits(reader: DerReader, what: string): Buffer {
  const octets = reader.octets(TAG.bitString, what);
  const [padding = 8] = octets;
  const last = octets.length > 1 ? (octets.at(-1) ?? 0) : 0xff;
  if (padding > 7 || (last & ((1 << padding) - 1)) !== 0) throw refused(`${what}: a BIT STRING with wrong padding`);
  return octets.subarray(1);
}

const KEY = 'public key';
/** Octets of an uncompressed point of P-224, P-256, P-384 and P-521. */
const POINTS: Readonly<Record<string, number>> = {
  '06052b81040021': 57,
  '06082a8648ce3d030107': 65,
  '06052b81040022': 97,
  '06052b81040023': 133,
};

function readKey(info: DerReader): void {
  const { oid, parameters } = readAlgorithm(info, KEY);
  const key = readBits(info, KEY);
  const curve = parameters.toString('hex');
  // The encoding of NULL.
  if (oid === OID.rsaEncryption && curve !== '0500') throw refused(`${KEY}: RSA without NULL as parameters`);
  if (oid === OID.ecPublicKey && (POINTS[curve] !== key.length || key[0] !== 4))
    throw refused(`${KEY}: no uncompressed point of P-224, P-256, P-384 or P-521`);
  if (oid === OID.ed25519 && (parameters.length > 0 || key.length !== 32))
    throw refused(`${KEY}: not 32 octets without parameters`);
}

/** What may be critical: RFC 5280 forbids it for key identifiers, and Go verifies nothing with what it does not know. */
const CRITICAL: ReadonlySet<string> = new Set([15, 17, 19, 30, 31, 32, 33, 36, 37, 54].map((arc) => `2.5.29.${arc}`));
const BASIC_CONSTRAINTS = '2.5.29.19';
const EXTENDED_KEY_USAGE = '2.5.29.37';

function readExtension({ oid, critical, value }: CertificateExtension): void {
  if (oid.split('.').some((arc) => Number(arc) > MAX_ARC)) throw refused(`extension ${oid}: an arc above 2^31-1`);
  if (critical && !CRITICAL.has(oid)) throw refused(`extension ${oid}: it is critical`);
  if (oid !== OID.subjectAltName && oid !== BASIC_CONSTRAINTS && oid !== EXTENDED_KEY_USAGE) return;
  const members = value.enter(TAG.sequence, `extension ${oid}`);
  if (oid === BASIC_CONSTRAINTS && members.nextTag === TAG.boolean) members.boolean('basicConstraints');
  if (oid === EXTENDED_KEY_USAGE) while (!members.atEnd) members.objectIdentifier('extendedKeyUsage');
  if (oid !== OID.subjectAltName) return;
  while (!members.atEnd) {
    const tag = members.nextTag;
    const octets = members.enterAny(oid).rest();
    // rfc822Name, dNSName and uniformResourceIdentifier.
    if ((tag === 0x81 || tag === 0x82 || tag === 0x86) && !isAscii(octets))
      throw refused('subjectAltName: a name with other characters than ASCII');
    if (tag === 0x87 && octets.length !== 4 && octets.length !== 16)
      throw refused(`subjectAltName: an address of ${octets.length} octets`);
  }
}
