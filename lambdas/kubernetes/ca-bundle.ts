import { X509Certificate } from 'node:crypto';

const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Splits a bundle into its certificates. OpenSSL silently accepts a bundle without any readable certificate, and Node
 * falls back to the public roots for an empty one, so both are errors here.
 *
 * @param pem one or more PEM certificates; text between the blocks is ignored, as OpenSSL and Go do
 * @throws RangeError naming the unreadable certificate
 */
export function parseCaBundle(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(CERTIFICATE_BLOCK) ?? [];
  if (blocks.length === 0) throw new RangeError('the CA bundle holds no PEM certificate');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new RangeError(`certificate ${index + 1} of ${blocks.length} in the CA bundle cannot be read`);
    }
  });
}
