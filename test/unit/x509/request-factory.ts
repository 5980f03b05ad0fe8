import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  type Bytes,
  bitString,
  boolean,
  constructed,
  integer,
  nullValue,
  octetString,
  oid,
  primitive,
  sequence,
  setOf,
  TAG,
  tlv,
} from './der-writer.ts';

export const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  extensionRequest: '1.2.840.113549.1.9.14',
  challengePassword: '1.2.840.113549.1.9.7',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
} as const;

export type KeyKind =
  | 'p224'
  | 'p256'
  | 'p384'
  | 'p521'
  | 'secp256k1'
  | 'rsa1024'
  | 'rsa2048'
  | 'rsa3072'
  | 'ed25519'
  | 'mldsa44'
  | 'mldsa65'
  | 'mldsa87';

export type StringForm =
  | 'utf8String'
  | 'printableString'
  | 'ia5String'
  | 'numericString'
  | 'teletexString'
  | 'bmpString'
  | 'universalString'
  | 'octetString';

/** An attribute of a name. Without `form`: PrintableString where the alphabet allows it, else UTF8String, as Go does. */
export interface Attribute {
  readonly oid: string;
  readonly value: string;
  readonly form?: StringForm;
}

export type San =
  | { readonly kind: 'dNSName' | 'rfc822Name' | 'uniformResourceIdentifier'; readonly value: string }
  /** Text form of an IPv4 or IPv6 address, or any number of bytes. */
  | { readonly kind: 'iPAddress'; readonly value: string | Bytes }
  | { readonly kind: 'otherName' | 'x400Address' | 'directoryName' | 'ediPartyName' | 'registeredID' };

export interface RequestOptions {
  /** Default `system:node:node-1`. */
  readonly commonName?: string;
  /** Default `['system:nodes']`. One RDN each, before the common name, as a kubelet does. */
  readonly organizations?: readonly string[];
  /** Replaces `commonName` and `organizations`: one entry per RDN; bytes stand as they are. */
  readonly subject?: readonly (readonly Attribute[] | Bytes)[];
  /** Default one dNSName `node-1`. An empty list leaves the subjectAltName extension out. Bytes stand as they are. */
  readonly sans?: readonly (San | Bytes)[];
  readonly sansCritical?: boolean;
  /** Further extensions, encoded, after subjectAltName; see {@link extension}. */
  readonly extensions?: readonly Bytes[];
  /** Replaces the extensionRequest attribute: the members of attributes [0], as they stand. */
  readonly attributes?: readonly Bytes[];
  /** Default 0. */
  readonly version?: number;
  /** Default `p256`. */
  readonly key?: KeyKind;
  /** Replaces the SubjectPublicKeyInfo; the signature is still made with `key`. */
  readonly publicKeyInfo?: Bytes;
  /** Default: what Go picks for the key. */
  readonly digest?: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  /** Replaces the outer AlgorithmIdentifier. */
  readonly signatureAlgorithm?: Bytes;
  /** `signature`: the last byte is flipped. `subject`: the subject is changed after signing. A function gets the whole DER. */
  readonly tamper?: 'signature' | 'subject' | ((der: Buffer) => Bytes);
}

export interface MadeRequest {
  readonly der: Buffer;
  readonly pem: Buffer;
}

const keys = new Map<string, { readonly privateKey: KeyObject; readonly publicKeyInfo: Buffer }>();

const GENERATE: Record<KeyKind, () => { readonly privateKey: KeyObject }> = {
  p224: () => generateKeyPairSync('ec', { namedCurve: 'secp224r1' }),
  p256: () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  p384: () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
  p521: () => generateKeyPairSync('ec', { namedCurve: 'secp521r1' }),
  secp256k1: () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  rsa1024: () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  rsa2048: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  rsa3072: () => generateKeyPairSync('rsa', { modulusLength: 3072 }),
  ed25519: () => generateKeyPairSync('ed25519'),
  mldsa44: () => generateKeyPairSync('ml-dsa-44'),
  mldsa65: () => generateKeyPairSync('ml-dsa-65'),
  mldsa87: () => generateKeyPairSync('ml-dsa-87'),
};

/** A key pair of this process. One pair per kind: making requests costs a signature, not a key. */
export function keyPair(kind: KeyKind): { readonly privateKey: KeyObject; readonly publicKeyInfo: Buffer } {
  let pair = keys.get(kind);
  if (pair === undefined) {
    const { privateKey } = GENERATE[kind]();
    const publicKeyInfo = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
    pair = { privateKey, publicKeyInfo };
    keys.set(kind, pair);
  }
  return pair;
}

const DIGESTS: Partial<Record<KeyKind, 'sha384' | 'sha512'>> = { p384: 'sha384', p521: 'sha512' };
const ECDSA_WITH = {
  sha1: '1.2.840.10045.4.1',
  sha256: '1.2.840.10045.4.3.2',
  sha384: '1.2.840.10045.4.3.3',
  sha512: '1.2.840.10045.4.3.4',
};
const RSA_WITH = {
  sha1: '1.2.840.113549.1.1.5',
  sha256: '1.2.840.113549.1.1.11',
  sha384: '1.2.840.113549.1.1.12',
  sha512: '1.2.840.113549.1.1.13',
};
const PURE: Partial<Record<KeyKind, string>> = {
  ed25519: '1.3.101.112',
  mldsa44: '2.16.840.1.101.3.4.3.17',
  mldsa65: '2.16.840.1.101.3.4.3.18',
  mldsa87: '2.16.840.1.101.3.4.3.19',
};

function digestOf(options: RequestOptions, kind: KeyKind): keyof typeof ECDSA_WITH | undefined {
  return kind in PURE ? undefined : (options.digest ?? DIGESTS[kind] ?? 'sha256');
}

function algorithmIdentifier(kind: KeyKind, digest: keyof typeof ECDSA_WITH | undefined): Buffer {
  if (digest === undefined) return sequence(oid(PURE[kind]!));
  return kind.startsWith('rsa') ? sequence(oid(RSA_WITH[digest]), nullValue()) : sequence(oid(ECDSA_WITH[digest]));
}

function text(value: string, form: StringForm): Buffer {
  if (form === 'bmpString') return tlv(TAG.bmpString, Buffer.from(value, 'utf16le').swap16());
  if (form === 'universalString') {
    const points = Array.from(value, (character) => character.codePointAt(0)!);
    return tlv(
      TAG.universalString,
      Buffer.from(points.flatMap((point) => [0, point >> 16, (point >> 8) & 0xff, point & 0xff])),
    );
  }
  return tlv(TAG[form], Buffer.from(value, form === 'utf8String' || form === 'octetString' ? 'utf8' : 'latin1'));
}

/** One AttributeTypeAndValue. */
export function attribute({ oid: type, value, form }: Attribute): Buffer {
  return sequence(
    oid(type),
    text(value, form ?? (/^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value) ? 'printableString' : 'utf8String')),
  );
}

/** A Name, as DER; entries are RDNs. */
export function name(rdns: readonly (readonly Attribute[] | Bytes)[]): Buffer {
  return sequence(...rdns.map((rdn) => (rdn instanceof Uint8Array ? rdn : setOf(...rdn.map(attribute)))));
}

const groupsOf = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));

/** Network order bytes of an IPv4 or IPv6 address in text. */
export function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const hexadecimal = address.replace(/\d+(?:\.\d+){3}$/, (dotted) => {
    const hex = addressBytes(dotted).toString('hex');
    return `${hex.slice(0, 4)}:${hex.slice(4)}`;
  });
  const [left = '', right = ''] = hexadecimal.split('::');
  const [before, after] = [groupsOf(left), groupsOf(right)];
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

const TEXT_CHOICE = { rfc822Name: 1, dNSName: 2, uniformResourceIdentifier: 6 } as const;

/** One example each of the choices that are not text. */
const OTHER_CHOICE = {
  otherName: constructed(0, oid('1.3.6.1.4.1.311.20.2.3'), constructed(0, text('admin@example.com', 'utf8String'))),
  x400Address: constructed(3, sequence()),
  directoryName: constructed(4, name([[{ oid: OID.commonName, value: 'kubernetes' }]])),
  ediPartyName: constructed(5, constructed(1, text('party', 'utf8String'))),
  registeredID: primitive(8, oid('1.2.3.4').subarray(2)),
};

/** One GeneralName. */
export function generalName(san: San): Buffer {
  if (san.kind === 'iPAddress') {
    return primitive(7, typeof san.value === 'string' ? addressBytes(san.value) : san.value);
  }
  return 'value' in san ? primitive(TEXT_CHOICE[san.kind], Buffer.from(san.value, 'latin1')) : OTHER_CHOICE[san.kind];
}

/** SubjectPublicKeyInfo of RSA; the numbers are the content of an INTEGER. */
export function rsaKeyInfo(modulus: Bytes, exponent: Bytes, parameters = nullValue()): Buffer {
  const key = sequence(tlv(TAG.integer, modulus), tlv(TAG.integer, exponent));
  return sequence(sequence(oid('1.2.840.113549.1.1.1'), parameters), bitString(key));
}

/** One Extension; `value` is the DER inside the OCTET STRING. */
export function extension(type: string, value: Bytes, critical = false): Buffer {
  return sequence(oid(type), ...(critical ? [boolean(true)] : []), octetString(value));
}

/** A subjectAltName extension. */
export function subjectAltName(sans: readonly (San | Bytes)[], critical = false): Buffer {
  const names = sans.map((san) => (san instanceof Uint8Array ? san : generalName(san)));
  return extension(OID.subjectAltName, sequence(...names), critical);
}

/** An extensionRequest attribute with one value. */
export function extensionRequest(...extensions: readonly Bytes[]): Buffer {
  return sequence(oid(OID.extensionRequest), setOf(sequence(...extensions)));
}

/** One PEM block as Go's pem.EncodeToMemory writes it. */
export function toPem(der: Bytes, label = 'CERTIFICATE REQUEST'): Buffer {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.length).toString('base64');
  return Buffer.from(
    `-----BEGIN ${label}-----\n${base64.replace(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`,
    'latin1',
  );
}

function attributesOf(options: RequestOptions): readonly Bytes[] {
  if (options.attributes !== undefined) return options.attributes;
  const sans = options.sans ?? [{ kind: 'dNSName', value: 'node-1' }];
  const extensions = [
    ...(sans.length === 0 ? [] : [subjectAltName(sans, options.sansCritical)]),
    ...(options.extensions ?? []),
  ];
  return extensions.length === 0 ? [] : [extensionRequest(...extensions)];
}

function certificationRequestInfo(options: RequestOptions, publicKeyInfo: Bytes): Buffer {
  const subject = options.subject ?? [
    ...(options.organizations ?? ['system:nodes']).map((value) => [{ oid: OID.organization, value }]),
    [{ oid: OID.commonName, value: options.commonName ?? 'system:node:node-1' }],
  ];
  return sequence(
    integer(options.version ?? 0),
    name(subject),
    publicKeyInfo,
    constructed(0, ...attributesOf(options)),
  );
}

function mangle(der: Buffer, tamper: RequestOptions['tamper']): Bytes {
  if (typeof tamper === 'function') return tamper(der);
  const mangled = Buffer.from(der);
  if (tamper === 'signature') mangled[mangled.length - 1]! ^= 0x01;
  if (tamper === 'subject') {
    const at = mangled.indexOf('system:node');
    if (at < 0) throw new Error('there is no `system:node` in this subject to tamper with');
    mangled[at] = 'S'.charCodeAt(0);
  }
  return mangled;
}

/**
 * A PKCS#10 request, signed over whatever the options make of it, so that a hostile shape fails for its shape and not
 * for its signature. Without options: what a kubelet on `node-1` sends.
 */
export function makeRequest(options: RequestOptions = {}): MadeRequest {
  const kind = options.key ?? 'p256';
  const pair = keyPair(kind);
  const info = certificationRequestInfo(options, options.publicKeyInfo ?? pair.publicKeyInfo);
  const digest = digestOf(options, kind);
  const whole = sequence(
    info,
    options.signatureAlgorithm ?? algorithmIdentifier(kind, digest),
    bitString(sign(digest, info, pair.privateKey)),
  );
  const der = options.tamper === undefined ? whole : Buffer.from(mangle(whole, options.tamper));
  return { der, pem: toPem(der) };
}
