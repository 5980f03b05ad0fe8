import { randomBytes } from 'node:crypto';
import { capiCluster, workerMachine } from '../providers/objects.ts';
import { PROVIDERS } from '../providers/table.ts';
import { makeRequest, type RequestOptions } from '../unit/x509/request-factory.ts';

/** As long as what EKS tells of a cluster's authority, in base64, and as hard to compress. */
export function caData(): string {
  const pem = `-----BEGIN CERTIFICATE-----\n${randomBytes(1_050).toString('base64')}\n-----END CERTIFICATE-----\n`;
  return Buffer.from(pem).toString('base64');
}

/** The address of node number `index`: unique up to four million nodes. */
export function addressOf(index: number): string {
  return `10.${(index >> 16) & 0xff}.${(index >> 8) & 0xff}.${index & 0xff}`;
}

export const nodeName = (index: number): string => `worker-${index}`;

const BENCH = { provider: PROVIDERS['bare metal, 0.26'], name: 'bench' };

/** The Cluster of cluster `bench`. */
export const BENCH_CLUSTER: object = capiCluster(BENCH);

/** A Machine of cluster `bench` on bare metal; its node, the name of which is that of its hardware, is number `index`. */
export function machineOf(index: number): object {
  const made = workerMachine(BENCH, { name: `md-0-${index}`, address: addressOf(index) });
  return { ...made, status: { ...made.status, nodeRef: { name: nodeName(index) } } };
}

/** What the kubelet of node `index` sends: its name and its address, P-256. `steals` makes it ask for another node's name too. */
export function requestOf(index: number, options: RequestOptions & { readonly steals?: number } = {}): Buffer {
  const { steals, ...rest } = options;
  return makeRequest({
    commonName: `system:node:${nodeName(index)}`,
    sans: [
      { kind: 'dNSName', value: nodeName(index) },
      { kind: 'iPAddress', value: addressOf(index) },
      ...(steals === undefined ? [] : [{ kind: 'dNSName' as const, value: nodeName(steals) }]),
    ],
    ...rest,
  }).pem;
}

/** The CertificateSigningRequest that the API server stores for it. */
export function csrOf(index: number, pem: Buffer, createdAt: string): object {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: {
      name: `csr-${index}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: '1',
      creationTimestamp: createdAt,
    },
    spec: {
      request: pem.toString('base64'),
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
      username: `system:node:${nodeName(index)}`,
      groups: ['system:nodes', 'system:authenticated'],
    },
    status: {},
  };
}
