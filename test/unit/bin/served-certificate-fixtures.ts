import {
  type CertificateAuthority,
  type CertificatePair,
  createCertificateAuthority,
  createKeyPair,
  issuePair,
} from '../../peculiar.ts';
import { NOW } from '../approval/fixtures.ts';

const DAY = 86_400_000;

function authority(): Promise<CertificateAuthority> {
  const validity = { notBefore: new Date(NOW - 3000 * DAY), notAfter: new Date(NOW + 600 * DAY) };
  return createCertificateAuthority({ commonName: 'kubernetes', ...validity });
}

/** Of every kubelet: what a key is does not matter here, and making one takes time. */
const keys = await createKeyPair('P-256');

export const CLUSTER_CA = await authority();
/** Of the same name. */
export const OTHER_CA = await authority();

export interface Served {
  readonly node: string;
  /** @default the node */
  readonly dnsNames?: readonly string[];
  readonly ipAddresses: readonly string[];
  /** @default CLUSTER_CA */
  readonly signedBy?: CertificateAuthority;
}

/** In PEM. */
export async function servingCertificate(served: Served): Promise<string> {
  return (await servingPair(served)).cert;
}

/** The same with its private key, for a TLS server. */
export function servingPair({
  node,
  dnsNames = [node],
  ipAddresses,
  signedBy = CLUSTER_CA,
}: Served): Promise<CertificatePair> {
  return issuePair(signedBy, {
    commonName: `system:node:${node}`,
    organizations: ['system:nodes'],
    dnsNames,
    ipAddresses,
    keys,
    notBefore: new Date(NOW - 200 * DAY),
    notAfter: new Date(NOW + 100 * DAY),
  });
}
