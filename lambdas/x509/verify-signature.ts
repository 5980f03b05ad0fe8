import { verify } from 'node:crypto';
import type { CertificateRequest } from './certificate-request.ts';
import { SIGNATURE_ALGORITHMS } from './object-identifiers.ts';

/** Bounds of the RSA keys whose signatures are verified; the minimum of a policy is higher. Go has the same bounds. */
const RSA = { minBits: 1024, maxBits: 8192, minExponent: 3, maxExponent: 2 ** 31 - 1 };

/**
 * Checks that the requester holds the private key: its signature over `toBeSigned` under its own public key.
 *
 * @returns `problem` says why it is not valid. Never throws.
 */
export function verifyRequestSignature(request: CertificateRequest): {
  readonly valid: boolean;
  readonly problem?: string;
} {
  const { publicKey, publicKeyInfo, signatureAlgorithm } = request;
  const algorithm = SIGNATURE_ALGORITHMS.get(signatureAlgorithm);
  if (algorithm === undefined) return invalid(`signature algorithm ${signatureAlgorithm} is not accepted`);
  const kind = publicKey.kind === 'ML-DSA' ? publicKey.parameterSet : publicKey.kind;
  if (algorithm.key !== kind) {
    return invalid(`signature algorithm ${signatureAlgorithm} does not fit a public key of kind ${publicKey.kind}`);
  }
  if (publicKey.kind === 'RSA') {
    const { bits, exponent } = publicKey;
    if (bits < RSA.minBits || bits > RSA.maxBits) {
      return invalid(`the RSA modulus has ${bits} bits, ${RSA.minBits} to ${RSA.maxBits} are accepted`);
    }
    if (exponent < RSA.minExponent || exponent > RSA.maxExponent || exponent % 2 === 0) {
      return invalid(`the RSA exponent is ${exponent}, odd numbers from ${RSA.minExponent} to 2^31-1 are accepted`);
    }
  }
  try {
    const key = { key: Buffer.from(publicKeyInfo), format: 'der', type: 'spki' } as const;
    const valid = verify(algorithm.digest, request.toBeSigned, key, request.signature);
    return valid ? { valid } : invalid('the signature does not match the request');
  } catch (error) {
    // OpenSSL's reason is a fixed text without any of the input.
    const reason = error instanceof Error ? error.message : 'no reason';
    return invalid(`OpenSSL does not take this public key or signature: ${reason}`);
  }
}

function invalid(problem: string): { readonly valid: false; readonly problem: string } {
  return { valid: false, problem };
}
