import { type KeyObject, X509Certificate } from 'node:crypto';

/** Larger keys are not calculated with: one verification must not take long, whatever the key is. Go has the same bounds for RSA. */
const MAX_RSA_BITS = 8192;
const MAX_RSA_EXPONENT = 2n ** 31n - 1n;
const MAX_DSA_BITS = 3072;

/** Whether a key made the signature of a certificate. False also where OpenSSL cannot tell. Never throws. */
export function isSignedBy(certificateDer: Buffer, key: KeyObject): boolean {
  try {
    return new X509Certificate(certificateDer).verify(key);
  } catch {
    return false;
  }
}

/** The key of a certificate; undefined when OpenSSL does not take it, or it is too large to calculate with. Never throws. */
export function verifyingKey(certificateDer: Buffer): KeyObject | undefined {
  try {
    const { publicKey } = new X509Certificate(certificateDer);
    return isReasonable(publicKey) ? publicKey : undefined;
  } catch {
    return undefined;
  }
}

function isReasonable({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'rsa' || asymmetricKeyType === 'rsa-pss')
    return modulusLength <= MAX_RSA_BITS && publicExponent <= MAX_RSA_EXPONENT;
  if (asymmetricKeyType === 'dsa') return modulusLength <= MAX_DSA_BITS;
  return asymmetricKeyType !== 'ec' || namedCurve !== undefined;
}
