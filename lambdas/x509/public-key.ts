import type { PublicKey } from './certificate-request.ts';
import { type DerReader, Refused, TAG } from './der.ts';
import { OID } from './object-identifiers.ts';

const WHAT = 'public key';

type Curve = Extract<PublicKey, { kind: 'ECDSA' }>['curve'];
type ParameterSet = Extract<PublicKey, { kind: 'ML-DSA' }>['parameterSet'];

/** Curves by object identifier (RFC 5480 §2.1.1.1), with the octets of a coordinate. */
const CURVES: ReadonlyMap<string, { readonly curve: Curve; readonly octets: number }> = new Map([
  [OID.secp256r1, { curve: 'P-256', octets: 32 }],
  [OID.secp384r1, { curve: 'P-384', octets: 48 }],
  [OID.secp521r1, { curve: 'P-521', octets: 66 }],
]);

/** ML-DSA by object identifier (RFC 9881 §4), with the octets of a public key. */
const ML_DSA: ReadonlyMap<string, { readonly parameterSet: ParameterSet; readonly octets: number }> = new Map([
  [OID.mlDsa44, { parameterSet: 'ML-DSA-44', octets: 1312 }],
  [OID.mlDsa65, { parameterSet: 'ML-DSA-65', octets: 1952 }],
  [OID.mlDsa87, { parameterSet: 'ML-DSA-87', octets: 2592 }],
]);

/** Reads the next value as SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). An unknown kind of key is `unknown`. */
export function readPublicKey(reader: DerReader): PublicKey {
  const info = reader.enter(TAG.sequence, WHAT);
  const algorithm = info.enter(TAG.sequence, `${WHAT} algorithm`);
  const oid = algorithm.objectIdentifier(`${WHAT} algorithm`);
  const key = readKey(oid, algorithm, info);
  algorithm.finish(`${WHAT} algorithm`);
  info.finish(WHAT);
  return key;
}

function readKey(oid: string, algorithm: DerReader, info: DerReader): PublicKey {
  const mlDsa = ML_DSA.get(oid);
  if (mlDsa !== undefined) {
    expectOctets(info.bitString(WHAT), mlDsa.octets, mlDsa.parameterSet);
    return { kind: 'ML-DSA', parameterSet: mlDsa.parameterSet };
  }
  switch (oid) {
    case OID.ecPublicKey:
      return readEcKey(algorithm, info.bitString(WHAT));
    case OID.rsaEncryption:
      algorithm.null(`${WHAT} algorithm`);
      return readRsaKey(info.bitString(WHAT));
    case OID.ed25519:
      expectOctets(info.bitString(WHAT), 32, 'Ed25519');
      return { kind: 'Ed25519' };
    default:
      if (!algorithm.atEnd) algorithm.skip(`${WHAT} algorithm`);
      info.bitString(WHAT);
      return { kind: 'unknown', algorithm: oid };
  }
}

/** RFC 5480 §2: a named curve and an uncompressed point. */
function readEcKey(algorithm: DerReader, point: DerReader): PublicKey {
  const oid = algorithm.objectIdentifier(`${WHAT} curve`);
  const known = CURVES.get(oid);
  if (known === undefined) return { kind: 'unknown', algorithm: `${OID.ecPublicKey} with curve ${oid}` };
  if (point.nextTag !== 0x04) {
    throw new Refused('UnexpectedStructure', `${WHAT}: a ${known.curve} point that is not in uncompressed form`);
  }
  expectOctets(point, 1 + 2 * known.octets, known.curve);
  return { kind: 'ECDSA', curve: known.curve };
}

/** RFC 8017 §A.1.1. */
function readRsaKey(content: DerReader): PublicKey {
  const key = content.enter(TAG.sequence, `${WHAT} RSA`);
  content.finish(`${WHAT} RSA`);
  const modulus = readPositive(key, `${WHAT} RSA modulus`);
  const exponent = readPositive(key, `${WHAT} RSA exponent`);
  key.finish(`${WHAT} RSA`);
  // A number cannot hold more exactly, and no verifier accepts more.
  if (exponent.length > 6) {
    throw new Refused('TooLarge', `${WHAT} RSA exponent: ${exponent.length} bytes found, 6 allowed`);
  }
  const bits = modulus.length * 8 - Math.clz32(modulus[0]!) + 24;
  return { kind: 'RSA', bits, exponent: exponent.readUIntBE(0, exponent.length) };
}

/** Magnitude of an INTEGER above zero, without the octet that holds only its sign. */
function readPositive(reader: DerReader, what: string): Buffer {
  const octets = reader.integer(what);
  const magnitude = octets[0] === 0 ? octets.subarray(1) : octets;
  if (magnitude.length > 0 && octets[0]! < 0x80) return magnitude;
  throw new Refused('UnexpectedStructure', `${what}: not above zero`);
}

function expectOctets(key: DerReader, expected: number, kind: string): void {
  const found = key.rest().length;
  if (found === expected) return;
  throw new Refused('UnexpectedStructure', `${WHAT}: ${found} bytes found, ${expected} expected for ${kind}`);
}
