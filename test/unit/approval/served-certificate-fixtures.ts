import { ownerFromServedCertificate, type RenewalProof } from '../../../lambdas/approval/evidence/renewal.ts';
import { type Certificate, readable } from '../../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import {
  type CertificateAuthority,
  type CertificatePair,
  createCertificateAuthority,
  createKeyPair,
  issuePair,
} from '../../peculiar.ts';
import { NOW } from './fixtures.ts';

const DAY = 86_400_000;

/** Days before and after {@link NOW}. */
export interface Life {
  readonly since?: number;
  readonly until?: number;
}

const validity = ({ since = -200, until = 100 }: Life) => ({
  notBefore: new Date(NOW + since * DAY),
  notAfter: new Date(NOW + until * DAY),
});

export async function authority(commonName: string, life: Life = {}): Promise<CertificateAuthority> {
  return createCertificateAuthority({
    commonName,
    ...validity({ since: -3000, until: 600, ...life }),
  });
}

/** Of every kubelet: what a key is does not matter here, and making one takes time. */
const keys = await createKeyPair('P-256');

export const CLUSTER_CA = await authority('kubernetes');
/** Somebody who chose the same name. */
export const OTHER_CA = await authority('kubernetes');

export interface Served extends Life {
  /** @default `node-1` */
  readonly node?: string;
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly purpose?: 'server' | 'client';
  readonly signedBy?: CertificateAuthority;
}

/** In PEM. */
export async function servingCertificate(served: Served = {}): Promise<string> {
  return (await servingPair(served)).cert;
}

/** The same with its private key, for a TLS server. */
export async function servingPair(served: Served = {}): Promise<CertificatePair> {
  const { node = 'node-1', signedBy = CLUSTER_CA, purpose = 'server' } = served;
  return issuePair(signedBy, {
    commonName: served.commonName ?? `system:node:${node}`,
    organizations: served.organizations ?? ['system:nodes'],
    dnsNames: served.dnsNames ?? [node],
    ipAddresses: served.ipAddresses ?? ['10.0.0.1'],
    keys,
    purpose,
    ...validity(served),
  });
}

export function certificatesIn(pem: string): readonly Certificate[] {
  return readable(decodeBundle(pem).certificates);
}

/** What the certificate proves of `node` in a cluster whose CA is {@link CLUSTER_CA}. */
export async function renewalProof(served: Served = {}, now = NOW): Promise<RenewalProof> {
  const { certificates: chain } = decodeBundle(await servingCertificate(served));
  const { node = 'node-1' } = served;
  return ownerFromServedCertificate(
    { node, where: '10.0.0.1:10250', chain },
    certificatesIn(CLUSTER_CA.certificate),
    now,
  );
}
