import { describe, expect, it } from 'vitest';
import { decodeCertificate } from '../../../lambdas/x509/decode-certificate.ts';
import { decodeCertificateRequest } from '../../../lambdas/x509/decode-certificate-request.ts';
import { VERIFICATIONS_A_HANDSHAKE } from '../../../lambdas/x509/issued-by.ts';
import { verifyRequestSignature } from '../../../lambdas/x509/verify-signature.ts';
import { certificate } from './certificate-writer.ts';
import { nullValue, oid, sequence } from './der-writer.ts';
import { makeRequest, rsaKeyInfo } from './request-factory.ts';

// What a calculation with a key costs grows with the square of its modulus, and with its exponent.

/** An odd number of so many bits as an INTEGER has it, after an octet for the sign where the first one looks like one. */
function odd(bits: number): Buffer {
  const digits = (2n ** BigInt(bits - 1) + 1n).toString(16);
  const octets = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return bits % 8 === 0 ? Buffer.concat([Buffer.alloc(1), octets]) : octets;
}
const keyOf = (modulusBits: number, exponentBits: number): Buffer => rsaKeyInfo(odd(modulusBits), odd(exponentBits));
const signatureAlgorithm = sequence(oid('1.2.840.113549.1.1.11'), nullValue());

describe('the RSA key of a request', () => {
  const problemOf = (modulusBits: number, exponentBits: number): string => {
    const publicKeyInfo = keyOf(modulusBits, exponentBits);
    const result = decodeCertificateRequest(makeRequest({ publicKeyInfo, signatureAlgorithm }).pem);
    return result.ok ? (verifyRequestSignature(result.request).problem ?? 'valid') : result.refusal.code;
  };

  it.each([
    [2048, 17],
    [8192, 17],
    [2048, 31],
    [8192, 31],
  ])('of %d bits with an exponent of %d is calculated with', (modulus, exponent) => {
    expect(problemOf(modulus, exponent)).not.toMatch(/accepted|TooLarge/);
  });

  it.each([
    [8193, 17],
    [16_384, 17],
    [2048, 32],
    [2048, 33],
    [2048, 48],
  ])('of %d bits with an exponent of %d is refused before that', (modulus, exponent) => {
    expect(problemOf(modulus, exponent)).toMatch(/^the RSA .* are accepted$/);
  });

  it('with an exponent of any length gives a value', () => {
    for (let octets = 7; octets <= 64; octets += 1) expect(problemOf(2048, octets * 8 - 1)).toBe('TooLarge');
  });
});

describe('the RSA key of a certificate', () => {
  it.each([
    [1023, 17, false],
    [1024, 17, true],
    [8192, 17, true],
    [8192, 31, true],
    [8193, 17, false],
    [16_384, 17, false],
    [2048, 32, false],
    [2048, 2048, false],
  ])('of %d bits with an exponent of %d is calculated with: %s', (modulus, exponent, verifiesFast) => {
    const decoded = decodeCertificate(certificate({ key: keyOf(modulus, exponent) }));
    if (!decoded.ok) throw new Error('not decoded');
    expect(decoded.certificate).toMatchObject({ key: `RSA-${modulus}`, verifiesFast });
  });
});

it('one handshake costs no more than 24 signatures', () => {
  expect(VERIFICATIONS_A_HANDSHAKE).toBe(24);
});
