import {
  type CertificateAuthority,
  createCertificateAuthority,
  createKeyPair,
  issuePair,
  privateKeyPem,
} from '../../../peculiar.ts';

const notBefore = new Date('2026-11-01T00:00:00Z');
export const CA_ENDS = '2036-11-01T00:00:00.000Z';
export const LEAF_ENDS = '2027-11-01T00:00:00.000Z';

export interface Pki {
  readonly ca: CertificateAuthority;
  /** A private key in PEM: nothing that an audit says may contain any of it. */
  readonly keyPem: string;
  leaf(
    commonName: string | undefined,
    options?: { readonly notAfter?: Date; readonly dnsNames?: readonly string[] },
  ): Promise<string>;
}

export async function createPki(): Promise<Pki> {
  const keys = await createKeyPair('P-256');
  const ca = await createCertificateAuthority({
    commonName: 'kubernetes',
    keys,
    notBefore,
    notAfter: new Date(CA_ENDS),
  });
  return {
    ca,
    keyPem: await privateKeyPem(keys),
    async leaf(commonName, { notAfter = new Date(LEAF_ENDS), dnsNames = ['worker-1'] } = {}) {
      return (await issuePair(ca, { commonName, dnsNames, keys, notBefore, notAfter })).cert;
    },
  };
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');
