import { makeRequest, type RequestOptions } from '../unit/x509/request-factory.ts';

/** The address of node number `index`: unique up to four million nodes. */
export function addressOf(index: number): string {
  return `10.${(index >> 16) & 0xff}.${(index >> 8) & 0xff}.${index & 0xff}`;
}

export const nodeName = (index: number): string => `worker-${index}`;

/** The Cluster of cluster `bench`. */
export const BENCH_CLUSTER: object = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'bench', namespace: 'eksa-system' },
  spec: { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] } } },
};

/** A Cluster API Machine of cluster `bench` whose node is number `index`. */
export function machineOf(index: number): object {
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name: `md-0-${index}`, namespace: 'eksa-system', labels: { 'cluster.x-k8s.io/cluster-name': 'bench' } },
    spec: { clusterName: 'bench' },
    status: {
      nodeRef: { name: nodeName(index) },
      phase: 'Running',
      addresses: [
        { type: 'InternalIP', address: addressOf(index) },
        { type: 'InternalDNS', address: `${nodeName(index)}.bench.internal` },
      ],
    },
  };
}

/** What the kubelet of node `index` sends: its name and its address, P-256. `steals` makes it ask for another node's address too. */
export function requestOf(index: number, options: RequestOptions & { readonly steals?: number } = {}): Buffer {
  const { steals, ...rest } = options;
  return makeRequest({
    commonName: `system:node:${nodeName(index)}`,
    sans: [
      { kind: 'dNSName', value: nodeName(index) },
      { kind: 'iPAddress', value: addressOf(index) },
      ...(steals === undefined ? [] : [{ kind: 'iPAddress' as const, value: addressOf(steals) }]),
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
