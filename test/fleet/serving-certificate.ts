import {
  createCertificateAuthority,
  createCertificateRequest,
  createKeyPair,
  issueCertificate,
  privateKeyPem,
} from '../peculiar.ts';

/** What a TLS server on 127.0.0.1 needs, all PEM, and what its clients have to trust. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly caPem: string;
  /** Another certificate for the same key by the same authority, PEM. @param notBefore @default a day before the end, or yesterday */
  readonly reissue: (notAfter: Date, notBefore?: Date) => Promise<string>;
}

const DAY = 86_400_000;

/**
 * A certificate for 127.0.0.1 and localhost by an authority of its own, in real time: it is real clients that check it.
 * The authority begins with it, and lasts ten years.
 *
 * @param commonName of the authority.
 * @param notAfter when the certificate ends.
 * @param notBefore when it begins. @default yesterday, or a day before its end
 */
export async function createServingCertificate(
  commonName: string,
  notAfter: Date,
  notBefore = dayBefore(notAfter),
): Promise<ServingCertificate> {
  const keys = await createKeyPair('P-256');
  const authority = await createCertificateAuthority({
    commonName,
    notBefore,
    notAfter: new Date(notBefore.getTime() + 10 * 365 * DAY),
  });
  const request = await createCertificateRequest({
    commonName: 'kube-apiserver',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    keys,
  });
  const reissue = async (end: Date, begin = dayBefore(end)): Promise<string> =>
    issueCertificate(authority, request, { notBefore: begin, notAfter: end });
  return {
    certificate: await reissue(notAfter, notBefore),
    key: await privateKeyPem(keys),
    caPem: authority.certificate,
    reissue,
  };
}

function dayBefore(end: Date): Date {
  return new Date(Math.min(Date.now(), end.getTime()) - DAY);
}
