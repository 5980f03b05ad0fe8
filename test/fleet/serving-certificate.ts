import {
  createCertificateAuthority,
  createCertificateRequest,
  createKeyPair,
  issueCertificate,
  privateKeyPem,
} from '../../lambdas/x509/peculiar.ts';

/** What a TLS server on 127.0.0.1 needs, all PEM, and what its clients have to trust. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly caPem: string;
}

const DAY = 86_400_000;

/**
 * A certificate for 127.0.0.1 and localhost by an authority of its own, in real time: it is real clients that check it.
 *
 * @param commonName of the authority.
 * @param notAfter when the certificate ends; its authority lasts.
 */
export async function createServingCertificate(commonName: string, notAfter: Date): Promise<ServingCertificate> {
  const [authorityKeys, keys] = await Promise.all([createKeyPair('P-256'), createKeyPair('P-256')]);
  const notBefore = new Date(Math.min(Date.now(), notAfter.getTime()) - DAY);
  const authority = await createCertificateAuthority({
    commonName,
    keys: authorityKeys,
    notBefore,
    notAfter: new Date(Date.now() + 365 * DAY),
  });
  const request = await createCertificateRequest({
    commonName: 'kube-apiserver',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    keys,
  });
  return {
    certificate: await issueCertificate(authority, request, { purpose: 'server', notBefore, notAfter }),
    key: await privateKeyPem(keys),
    caPem: authority.certificate,
  };
}
