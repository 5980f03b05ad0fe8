import { workerMachine } from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { type ServingCertificate, servingCertificate } from './serving-certificate.ts';
import { base64 } from './sources/certificates.ts';
import { type Answers, NOW } from './sources/fake-cluster.ts';
import { serving } from './sources/fake-management.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
export const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
export const MACHINES = '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/machines';
export const CLUSTERS = '/apis/cluster.x-k8s.io/v1beta2/namespaces/eksa-system/clusters';
const OF = { provider: PROVIDERS['vSphere, 0.26'], name: 'berlin' } as const;
const iso = (time: number) => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** Nodes that have a Machine each, made ten days ago where nothing else is said. */
export type Fleet = Readonly<Record<string, { readonly address: string; readonly bornAt?: number }>>;

/** What the API server answers of a cluster that manages itself. */
export function clusterAnswers(fleet: Fleet, requests: readonly object[] = []): Answers {
  const all = Object.entries(fleet).map(([node, { address, bornAt = NOW - 10 * DAY }]) => ({ node, address, bornAt }));
  return {
    ...serving('v1beta2'),
    '/api/v1/nodes': all.map(({ node, address, bornAt }) => ({
      metadata: { name: node, creationTimestamp: iso(bornAt) },
      status: { addresses: [{ type: 'InternalIP', address }] },
    })),
    [MACHINES]: all.map(({ node, address, bornAt }) => {
      const made = workerMachine(OF, { name: `md-${node}`, address });
      return {
        ...made,
        metadata: { ...made.metadata, creationTimestamp: iso(bornAt) },
        status: { ...made.status, nodeRef: { name: node }, addresses: [{ type: 'InternalIP', address }] },
      };
    }),
    [CLUSTERS]: [
      {
        metadata: { name: 'berlin', namespace: 'eksa-system' },
        spec: { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/16'] } } },
      },
    ],
    [CSRS]: [...requests],
  };
}

let count = 0;
/** A request of a node that an approver of the cluster approved, half an hour ago where nothing else is said. */
export function issuedRequest(
  wanted: Omit<ServingCertificate, 'at'> & {
    /** @default that of servers of kubelets */
    readonly signer?: string;
    readonly at?: number;
    readonly certificate?: string;
  },
): object {
  const { node, at = NOW - 30 * MINUTE, certificate = servingCertificate({ ...wanted, at }) } = wanted;
  count += 1;
  return {
    metadata: { name: `csr-${count}`, creationTimestamp: iso(at) },
    spec: {
      signerName: wanted.signer ?? 'kubernetes.io/kubelet-serving',
      username: `system:node:${node}`,
      groups: ['system:nodes', 'system:authenticated'],
    },
    status: {
      conditions: [{ type: 'Approved', status: 'True', reason: 'AutoApproved' }],
      certificate: base64(certificate),
    },
  };
}
