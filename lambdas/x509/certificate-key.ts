import { DerReader, Refused, TAG } from './der.ts';
import { OID } from './object-identifiers.ts';

const WHAT = 'public key';

/** NIST SP 800-57 part 1, table 2: 112 bits of security, which Go and OpenSSL require of certificate keys. */
const MIN_RSA_BITS = 2048;
/** Octets of a coordinate of P-256. */
const MIN_FIELD_OCTETS = 32;

const RSASSA_PSS = '1.2.840.113549.1.1.10';
const DSA = '1.2.840.10040.4.1';

/**
 * RSA keys whose signatures are verified; Go has the same bounds. 8192 bits take up to 1 ms; an unbounded exponent
 * could take any time.
 */
const FAST_RSA = { minBits: 1024, maxBits: 8192, exponentOctets: 4 };

/** Named curves (RFC 5480 §2.1.1.1, SEC 2, RFC 5639). */
const CURVES: ReadonlyMap<string, string> = new Map([
  [OID.secp256r1, 'P-256'],
  [OID.secp384r1, 'P-384'],
  [OID.secp521r1, 'P-521'],
  ['1.2.840.10045.3.1.1', 'P-192'],
  ['1.3.132.0.33', 'P-224'],
  ['1.3.132.0.10', 'secp256k1'],
  ['1.3.36.3.3.2.8.1.1.7', 'brainpoolP256r1'],
  ['1.3.36.3.3.2.8.1.1.11', 'brainpoolP384r1'],
  ['1.3.36.3.3.2.8.1.1.13', 'brainpoolP512r1'],
]);

/** Keys identified by their algorithm alone. */
const FIXED: ReadonlyMap<string, string> = new Map([
  [OID.ed25519, 'Ed25519'],
  ['1.3.101.113', 'Ed448'],
  [OID.mlDsa44, 'ML-DSA-44'],
  [OID.mlDsa65, 'ML-DSA-65'],
  [OID.mlDsa87, 'ML-DSA-87'],
]);

/** A curve whose parameters are in the certificate. */
const OWN_CURVE = 'EC with a curve of its own';

export interface CertificateKey {
  readonly key: string;
  readonly weakKey?: string;
  /**
   * Whether its signatures are cheap to verify: binary curves, explicit curve parameters, DSA and huge RSA keys take
   * many times as long.
   */
  readonly verifiesFast: boolean;
}

/**
 * Reads the next value as SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). An unknown kind of key has its object identifier.
 */
export function readCertificateKey(reader: DerReader): CertificateKey {
  const info = reader.enter(TAG.sequence, WHAT);
  const algorithm = info.enter(TAG.sequence, `${WHAT} algorithm`);
  const oid = algorithm.wideObjectIdentifier(WHAT);
  // Not `bitString`: an unknown kind of key may end within an octet.
  const key = info.octets(TAG.bitString, WHAT);
  info.finish(WHAT);
  if (key.length === 0) throw new Refused('NotDer', `${WHAT}: a BIT STRING without content`);
  switch (oid) {
    case OID.rsaEncryption:
    case RSASSA_PSS:
      return rsaKey(key);
    case OID.ecPublicKey:
      return ecKey(algorithm, key);
    case DSA:
      return {
        key: dsaName(algorithm),
        weakKey: 'DSA is no longer approved for signatures (FIPS 186-5)',
        verifiesFast: false,
      };
    default:
      return { key: FIXED.get(oid) ?? oid, verifiesFast: FIXED.has(oid) };
  }
}

/** RFC 8017 §A.1.1. */
function rsaKey(key: Buffer): CertificateKey {
  // The first octet counts the unused bits of the last one.
  const sequence = new DerReader(key, 1).enter(TAG.sequence, `${WHAT} RSA`);
  const bits = bitsOf(sequence.octets(TAG.integer, `${WHAT} RSA modulus`), `${WHAT} RSA modulus`);
  const exponent = sequence.nextTag === TAG.integer ? sequence.octets(TAG.integer, `${WHAT} RSA exponent`) : undefined;
  const { minBits, maxBits, exponentOctets } = FAST_RSA;
  return {
    key: `RSA-${bits}`,
    verifiesFast: bits >= minBits && bits <= maxBits && (exponent?.length ?? Infinity) <= exponentOctets,
    weakKey: bits < MIN_RSA_BITS ? `RSA of ${bits} bits; at least ${MIN_RSA_BITS} are required` : undefined,
  };
}

/** RFC 5480 §2. An unknown curve is judged by the size of its points. */
function ecKey(algorithm: DerReader, key: Buffer): CertificateKey {
  const oid = algorithm.nextTag === TAG.objectIdentifier ? algorithm.wideObjectIdentifier(`${WHAT} curve`) : undefined;
  const known = oid === undefined ? undefined : CURVES.get(oid);
  const name = known ?? (oid === undefined ? OWN_CURVE : `EC with curve ${oid}`);
  const [, form] = key;
  const point = key.length - 2;
  const fieldOctets = form === 2 || form === 3 ? point : point / 2;
  return {
    key: name,
    verifiesFast: known !== undefined,
    weakKey:
      fieldOctets < MIN_FIELD_OCTETS
        ? `a curve of about ${Math.max(0, fieldOctets * 8)} bits; at least 256 are required`
        : undefined,
  };
}

/** RFC 3279 §2.3.2: the parameters may be those of the issuer. */
function dsaName(algorithm: DerReader): string {
  if (algorithm.nextTag !== TAG.sequence) return 'DSA';
  const what = `${WHAT} DSA`;
  return `DSA-${bitsOf(algorithm.enter(TAG.sequence, what).octets(TAG.integer, what), what)}`;
}

/** Length of an INTEGER above zero. */
function bitsOf(octets: Buffer, what: string): number {
  const first = octets.findIndex((octet) => octet !== 0);
  if (first === -1 || octets.readUInt8(0) >= 0x80) throw new Refused('UnexpectedStructure', `${what}: not above zero`);
  return (octets.length - first) * 8 - Math.clz32(octets.readUInt8(first)) + 24;
}
