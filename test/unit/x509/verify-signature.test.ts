import { describe, expect, it } from 'vitest';
import type { CertificateRequest } from '../../../lambdas/x509/certificate-request.ts';
import { verifyRequestSignature } from '../../../lambdas/x509/verify-signature.ts';
import { functionCalls } from '../function-calls.ts';
import { bitString, oid, sequence, TAG, tlv } from './der-writer.ts';
import { decoded } from './reading.ts';
import { type KeyKind, keyPair, type RequestOptions, rsaKeyInfo } from './request-factory.ts';

const valid: readonly [KeyKind, RequestOptions['digest']?][] = [
  ['p256'],
  ['p256', 'sha384'],
  ['p256', 'sha512'],
  ['p384'],
  ['p384', 'sha256'],
  ['p521'],
  ['rsa1024'],
  ['rsa2048'],
  ['rsa2048', 'sha384'],
  ['rsa2048', 'sha512'],
  ['ed25519'],
  ['mldsa44'],
  ['mldsa65'],
  ['mldsa87'],
];

describe('a signature by its own key', () => {
  it.each(valid)('%s %s is valid', (key, digest) => {
    const options: RequestOptions = digest === undefined ? { key } : { key, digest };
    expect(verifyRequestSignature(decoded(options))).toEqual({ valid: true });
  });

  it.each(valid)('%s %s is invalid when a bit of it is flipped', (key, digest) => {
    const options: RequestOptions = digest === undefined ? { key } : { key, digest };
    expect(verifyRequestSignature(decoded({ ...options, tamper: 'signature' })).valid).toBe(false);
  });

  it.each(['p256', 'rsa2048', 'ed25519', 'mldsa44'] as const)('%s does not cover a changed subject', (key) => {
    expect(verifyRequestSignature(decoded({ key, tamper: 'subject' }))).toEqual({
      valid: false,
      problem: 'the signature does not match the request',
    });
  });
});

const rsaModulus = (bits: number): Buffer =>
  Buffer.concat([Buffer.from([0, 0x80]), Buffer.alloc(bits / 8 - 2), Buffer.from([1])]);
const exponent = Buffer.from([1, 0, 1]);
const withRsaKey = (publicKeyInfo: Buffer): RequestOptions => ({ key: 'rsa2048', publicKeyInfo });

describe('what is refused before any calculation', () => {
  const refused: readonly [string, RequestOptions, string][] = [
    ['ECDSA with SHA-1', { digest: 'sha1' }, 'signature algorithm 1.2.840.10045.4.1 is not accepted'],
    ['RSA with SHA-1', { key: 'rsa2048', digest: 'sha1' }, 'signature algorithm 1.2.840.113549.1.1.5 is not accepted'],
    [
      'RSASSA-PSS',
      { key: 'rsa2048', signatureAlgorithm: sequence(oid('1.2.840.113549.1.1.10'), sequence()) },
      'signature algorithm 1.2.840.113549.1.1.10 is not accepted',
    ],
    [
      'an RSA signature with an EC key',
      { key: 'rsa2048', publicKeyInfo: keyPair('p256').publicKeyInfo },
      'signature algorithm 1.2.840.113549.1.1.11 does not fit a public key of kind ECDSA',
    ],
    [
      'an ECDSA signature with an RSA key',
      { publicKeyInfo: keyPair('rsa2048').publicKeyInfo },
      'signature algorithm 1.2.840.10045.4.3.2 does not fit a public key of kind RSA',
    ],
    [
      'an Ed25519 signature with an EC key',
      { key: 'ed25519', publicKeyInfo: keyPair('p256').publicKeyInfo },
      'signature algorithm 1.3.101.112 does not fit a public key of kind ECDSA',
    ],
    [
      'ML-DSA of another parameter set',
      { key: 'mldsa44', publicKeyInfo: keyPair('mldsa65').publicKeyInfo },
      'signature algorithm 2.16.840.1.101.3.4.3.17 does not fit a public key of kind ML-DSA',
    ],
    [
      'a curve that is not known',
      { key: 'p224' },
      'signature algorithm 1.2.840.10045.4.3.2 does not fit a public key of kind unknown',
    ],
    [
      'RSA of 1,016 bits',
      withRsaKey(rsaKeyInfo(rsaModulus(1016), exponent)),
      'the RSA modulus has 1016 bits, 1024 to 8192 are accepted',
    ],
    [
      'RSA of 8,200 bits',
      withRsaKey(rsaKeyInfo(rsaModulus(8200), exponent)),
      'the RSA modulus has 8200 bits, 1024 to 8192 are accepted',
    ],
    [
      'RSA of 16,384 bits',
      withRsaKey(rsaKeyInfo(rsaModulus(16_384), exponent)),
      'the RSA modulus has 16384 bits, 1024 to 8192 are accepted',
    ],
    [
      'RSA with exponent 1',
      withRsaKey(rsaKeyInfo(rsaModulus(2048), Buffer.from([1]))),
      'the RSA exponent is 1, odd numbers from 3 to 2^31-1 are accepted',
    ],
    [
      'RSA with an even exponent',
      withRsaKey(rsaKeyInfo(rsaModulus(2048), Buffer.from([4]))),
      'the RSA exponent is 4, odd numbers from 3 to 2^31-1 are accepted',
    ],
    [
      'RSA with exponent 2^31+1',
      withRsaKey(rsaKeyInfo(rsaModulus(2048), Buffer.from([0, 0x80, 0, 0, 1]))),
      'the RSA exponent is 2147483649, odd numbers from 3 to 2^31-1 are accepted',
    ],
  ];
  it.each(refused)('%s', (_, options, problem) => {
    expect(verifyRequestSignature(decoded(options))).toEqual({ valid: false, problem });
  });

  it('with none of these is calculated, and with the largest RSA modulus and exponent that are accepted it is', () => {
    const KEYS = /^node:internal\/crypto\/(?:keys|sig) /;
    const requests = refused.map(([, options]) => decoded(options));
    expect(functionCalls(() => requests.map(verifyRequestSignature), KEYS)).toBe(0);
    const options = withRsaKey(rsaKeyInfo(rsaModulus(8192), Buffer.from([0x7f, 0xff, 0xff, 0xff])));
    const largest = { ...decoded(options), signature: Buffer.alloc(1024, 0x11) };
    expect(verifyRequestSignature(largest).problem).toBe('the signature does not match the request');
    expect(functionCalls(() => verifyRequestSignature(largest), KEYS)).toBeGreaterThan(0);
  });
});

const point = (curve: string, octets: number): Buffer =>
  sequence(sequence(oid('1.2.840.10045.2.1'), oid(curve)), bitString(Buffer.alloc(octets, 4)));

describe('what OpenSSL does not take is a problem, not an exception', () => {
  it.each<[string, Buffer]>([
    ['P-256', point('1.2.840.10045.3.1.7', 65)],
    ['P-384', point('1.3.132.0.34', 97)],
    ['P-521', point('1.3.132.0.35', 133)],
  ])('a point that is not on %s', (_, publicKeyInfo) => {
    const { valid: accepted, problem } = verifyRequestSignature(decoded({ publicKeyInfo }));
    expect(accepted).toBe(false);
    expect(problem).toMatch(/^OpenSSL does not take this public key or signature: [\x20-\x7e]{1,200}$/);
  });

  const signatures: readonly [string, Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['garbage', Buffer.alloc(64, 0x5a)],
    ['r and s zero', sequence(tlv(TAG.integer, Buffer.alloc(1)), tlv(TAG.integer, Buffer.alloc(1)))],
    ['one of 32 KiB', sequence(tlv(TAG.integer, Buffer.alloc(32_768, 1)), tlv(TAG.integer, Buffer.alloc(1, 1)))],
  ];
  it.each(signatures)('%s instead of a signature', (_, signature) => {
    for (const key of ['p256', 'rsa2048', 'ed25519', 'mldsa44'] as const) {
      const request: CertificateRequest = { ...decoded({ key }), signature };
      expect(verifyRequestSignature(request)).toMatchObject({ valid: false, problem: expect.any(String) });
    }
  });

  it('an ECDSA signature is DER: bytes after it are not ignored', () => {
    const request = decoded({});
    const signature = Buffer.concat([request.signature, Buffer.alloc(1)]);
    expect(verifyRequestSignature({ ...request, signature }).valid).toBe(false);
  });
});
