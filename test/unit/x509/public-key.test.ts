import { describe, expect, it } from 'vitest';
import type { PublicKey } from '../../../lambdas/x509/certificate-request.ts';
import { bitString, integer, nullValue, oid, sequence, TAG, tlv } from './der-writer.ts';
import { decoded, refusalOf } from './reading.ts';
import { type KeyKind, makeRequest, rsaKeyInfo } from './request-factory.ts';

const ec = (curve: Buffer, point: Buffer): Buffer =>
  sequence(sequence(oid('1.2.840.10045.2.1'), curve), bitString(point));
const ed25519 = (parameters: readonly Buffer[], length: number): Buffer =>
  sequence(sequence(oid('1.3.101.112'), ...parameters), bitString(Buffer.alloc(length)));

const notAbove = (part: string) => `UnexpectedStructure: public key RSA ${part}: not above zero`;
const COMPRESSED = 'UnexpectedStructure: public key: a P-256 point that is not in uncompressed form';

describe('public keys', () => {
  const kinds: readonly [KeyKind, PublicKey][] = [
    ['p256', { kind: 'ECDSA', curve: 'P-256' }],
    ['p384', { kind: 'ECDSA', curve: 'P-384' }],
    ['p521', { kind: 'ECDSA', curve: 'P-521' }],
    ['p224', { kind: 'unknown', algorithm: '1.2.840.10045.2.1 with curve 1.3.132.0.33' }],
    ['secp256k1', { kind: 'unknown', algorithm: '1.2.840.10045.2.1 with curve 1.3.132.0.10' }],
    ['rsa1024', { kind: 'RSA', bits: 1024, exponent: 65_537 }],
    ['rsa2048', { kind: 'RSA', bits: 2048, exponent: 65_537 }],
    ['rsa3072', { kind: 'RSA', bits: 3072, exponent: 65_537 }],
    ['ed25519', { kind: 'Ed25519' }],
    ['mldsa44', { kind: 'ML-DSA', parameterSet: 'ML-DSA-44' }],
    ['mldsa65', { kind: 'ML-DSA', parameterSet: 'ML-DSA-65' }],
    ['mldsa87', { kind: 'ML-DSA', parameterSet: 'ML-DSA-87' }],
  ];
  it.each(kinds)('%s', (key, publicKey) => {
    expect(decoded({ key }).publicKey).toEqual(publicKey);
  });

  const modulus = Buffer.concat([Buffer.from([0, 0x80]), Buffer.alloc(254), Buffer.from([1])]);
  const three = Buffer.from([3]);

  it.each([
    ['01', 1],
    ['7f', 7],
    ['0080', 8],
    ['0100', 9],
    [`00${'ff'.repeat(256)}`, 2048],
    [`7f${'ff'.repeat(255)}`, 2047],
  ])('an RSA modulus 0x%s has %d bits', (hex, bits) => {
    const publicKeyInfo = rsaKeyInfo(Buffer.from(hex, 'hex'), three);
    expect(decoded({ publicKeyInfo }).publicKey).toEqual({ kind: 'RSA', bits, exponent: 3 });
  });

  const p256 = oid('1.2.840.10045.3.1.7');

  const rsaAlgorithm = sequence(oid('1.2.840.113549.1.1.1'), nullValue());

  const refused: readonly [string, Buffer, string][] = [
    [
      'EC with explicit parameters',
      ec(sequence(integer(1)), Buffer.alloc(65, 4)),
      'UnexpectedStructure: public key curve: tag 0x06 expected, 0x30 found',
    ],
    [
      'EC without parameters',
      sequence(sequence(oid('1.2.840.10045.2.1')), bitString(Buffer.alloc(65, 4))),
      'UnexpectedStructure: public key curve: missing',
    ],
    ['EC with a compressed point', ec(p256, Buffer.alloc(33, 2)), COMPRESSED],
    ['EC at infinity', ec(p256, Buffer.alloc(1)), COMPRESSED],
    [
      'a point that is too short',
      ec(p256, Buffer.alloc(64, 4)),
      'UnexpectedStructure: public key: 64 bytes found, 65 expected for P-256',
    ],
    [
      'a point of another curve',
      ec(p256, Buffer.alloc(97, 4)),
      'UnexpectedStructure: public key: 97 bytes found, 65 expected for P-256',
    ],
    [
      'more than the curve',
      sequence(sequence(oid('1.2.840.10045.2.1'), p256, nullValue()), bitString(Buffer.alloc(65, 4))),
      'TrailingData: public key algorithm: 2 bytes follow its last element',
    ],
    ['RSA, no NULL', rsaKeyInfo(modulus, three, Buffer.alloc(0)), 'UnexpectedStructure: public key algorithm: missing'],
    ['RSA with a negative modulus', rsaKeyInfo(modulus.subarray(1), three), notAbove('modulus')],
    ['RSA with modulus zero', rsaKeyInfo(Buffer.alloc(1), three), notAbove('modulus')],
    [
      'RSA with a modulus in non-minimal form',
      rsaKeyInfo(Buffer.concat([Buffer.alloc(1), modulus]), three),
      'NotDer: public key RSA modulus: an INTEGER in non-minimal form',
    ],
    ['RSA with exponent zero', rsaKeyInfo(modulus, Buffer.alloc(1)), notAbove('exponent')],
    [
      'RSA with a huge exponent',
      rsaKeyInfo(modulus, Buffer.alloc(256, 0x7f)),
      'TooLarge: public key RSA exponent: 256 bytes found, 6 allowed',
    ],
    [
      'RSA with a third number',
      sequence(rsaAlgorithm, bitString(sequence(tlv(TAG.integer, modulus), integer(3), integer(3)))),
      'TrailingData: public key RSA: 3 bytes follow its last element',
    ],
    [
      'RSA with something after the key',
      sequence(rsaAlgorithm, bitString(Buffer.concat([sequence(tlv(TAG.integer, modulus), integer(3)), nullValue()]))),
      'TrailingData: public key RSA: 2 bytes follow its last element',
    ],
    [
      'Ed25519 with parameters',
      ed25519([nullValue()], 32),
      'TrailingData: public key algorithm: 2 bytes follow its last element',
    ],
    ['Ed25519, 31 bytes', ed25519([], 31), 'UnexpectedStructure: public key: 31 bytes found, 32 expected for Ed25519'],
    [
      'ML-DSA-65 of the length of ML-DSA-44',
      sequence(sequence(oid('2.16.840.1.101.3.4.3.18')), bitString(Buffer.alloc(1312))),
      'UnexpectedStructure: public key: 1312 bytes found, 1952 expected for ML-DSA-65',
    ],
    [
      'a key that is not whole octets',
      sequence(sequence(oid('1.3.101.112')), bitString(Buffer.alloc(32), 1)),
      'UnexpectedStructure: public key: a BIT STRING that is not a whole number of octets',
    ],
    [
      'a third element',
      sequence(sequence(oid('1.3.101.112')), bitString(Buffer.alloc(32)), nullValue()),
      'TrailingData: public key: 2 bytes follow its last element',
    ],
    [
      'an unknown algorithm with parameters that are not DER',
      sequence(sequence(oid('1.2.3'), tlv(TAG.boolean, Buffer.from([1]))), bitString(Buffer.alloc(32))),
      'NotDer: public key algorithm: a BOOLEAN that is neither 00 nor FF',
    ],
  ];
  it.each(refused)('%s is refused', (_, publicKeyInfo, refusal) => {
    expect(refusalOf(makeRequest({ publicKeyInfo }).pem)).toBe(refusal);
  });

  it('an algorithm nobody knows is unknown', () => {
    const publicKeyInfo = sequence(sequence(oid('1.2.3'), nullValue()), bitString(Buffer.alloc(32)));
    expect(decoded({ publicKeyInfo }).publicKey).toEqual({ kind: 'unknown', algorithm: '1.2.3' });
  });
});
