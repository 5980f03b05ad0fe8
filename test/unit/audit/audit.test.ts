import { describe, expect, it } from 'vitest';

import { audit } from '../../../lambdas/audit/audit.ts';
import type { AuditSource } from '../../../lambdas/audit/audit-source.ts';
import { certManager } from '../../../lambdas/audit/sources/cert-manager.ts';
import { clusterSecrets } from '../../../lambdas/audit/sources/cluster-secrets.ts';
import { eksAnywhere } from '../../../lambdas/audit/sources/eks-anywhere.ts';
import { etcdadmCluster } from '../../../lambdas/audit/sources/etcdadm-cluster.ts';
import { kubeadmControlPlane } from '../../../lambdas/audit/sources/kubeadm-control-plane.ts';
import { machines } from '../../../lambdas/audit/sources/machines.ts';
import { nodes } from '../../../lambdas/audit/sources/nodes.ts';
import type { Snapshot } from '../../../lambdas/expiry/snapshot.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/expiry/thresholds.ts';
import { base64, createPki } from './sources/certificates.ts';
import { type Answers, contextOf, failure, fakeClient, NOW } from './sources/fake-cluster.ts';
import { serving } from './sources/fake-management.ts';

const DAY = 86_400_000;
const NAMESPACE = '/namespaces/eksa-system';
const MACHINES = `/apis/cluster.x-k8s.io/v1beta2${NAMESPACE}/machines`;
const PLANES = `/apis/controlplane.cluster.x-k8s.io/v1beta2${NAMESPACE}/kubeadmcontrolplanes`;
const ETCD = `/apis/etcdcluster.cluster.x-k8s.io/v1beta1${NAMESPACE}/etcdadmclusters`;
const CLUSTERS = '/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters';
const CERTIFICATES = '/apis/cert-manager.io/v1/certificates';

const labels = { 'cluster.x-k8s.io/cluster-name': 'berlin' };
const machine = (name: string, days: number, label: string) => ({
  metadata: {
    name,
    namespace: 'eksa-system',
    creationTimestamp: new Date(NOW - days * DAY).toISOString(),
    labels: { ...labels, [label]: '' },
  },
  spec: { clusterName: 'berlin' },
  status: { addresses: [{ type: 'InternalIP', address: '10.0.0.3' }] },
});
const etcd = (days: number) => machine('etcd-1', days, 'cluster.x-k8s.io/etcd-cluster');
const EMPTY: Answers = { '/api/v1/nodes': [] };

interface Clusters {
  readonly management: Answers;
  /** @default the management cluster: it manages itself */
  readonly workload?: Answers;
}

/** One audit after the other, a quarter of an hour apart; what each found. */
async function audited(
  sources: readonly AuditSource[],
  given: readonly Clusters[],
  namespace: string | undefined = 'eksa-system',
): Promise<readonly Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for (const [index, clusters] of given.entries()) {
    const management = fakeClient(clusters.management);
    const workload = clusters.workload === undefined ? management : fakeClient(clusters.workload);
    const { target, signal } = contextOf(workload, { reach: { handshakes: false } });
    const report = await audit(
      { ...target, management, ...(namespace === '' ? {} : { machinesNamespace: namespace }) },
      {
        previous: snapshots.at(-1),
        thresholds: DEFAULT_THRESHOLDS,
        clock: () => NOW + index * 900_000,
        signal,
        sources,
      },
    );
    snapshots.push(report.snapshot);
  }
  return snapshots;
}

const found = ({ findings }: Snapshot): readonly string[] =>
  findings
    .filter(({ code }) => code !== 'NotVisible')
    .map(({ code, severity, object }) => `${severity} ${code} ${object}`);
const critical = (snapshot: Snapshot): readonly string[] =>
  found(snapshot).filter((finding) => finding.startsWith('critical'));
const offOf = ({ observations }: Snapshot): readonly string[] =>
  observations.flatMap(({ kind, source }) => (kind === 'off' ? source : []));

const OLD_ETCD: Answers = { ...EMPTY, ...serving('v1beta2'), [MACHINES]: [etcd(364)] };
const UNKNOWN_VERSION: Answers = { ...OLD_ETCD, '/apis/cluster.x-k8s.io': { versions: [{ version: 'v1' }] } };

describe('a 404 of what was there before is a read that failed', () => {
  it.each([
    ['Cluster API of a cluster that manages itself', EMPTY],
    ['Cluster API in a version that nobody knows', UNKNOWN_VERSION],
  ])('%s', async (_, lost) => {
    const all = [nodes, machines, etcdadmCluster, eksAnywhere];
    const [first, ...later] = await audited(all, [OLD_ETCD, lost, lost, lost].map((management) => ({ management })));
    expect(first && critical(first)).toEqual([
      'critical CertificateExpiring etcd-peer etcd-1',
      'critical CertificateExpiring etcd-server etcd-1',
      expect.stringMatching(/^critical CertificateExpiring apiserver-etcd-client/),
    ].toSorted((a, b) => found(first as Snapshot).findIndex((one) => one.startsWith(String(a))) - found(first as Snapshot).findIndex((one) => one.startsWith(String(b)))));
    for (const snapshot of later) {
      expect(found(snapshot)).toEqual(expect.arrayContaining([...found(first as Snapshot)]));
      expect(found(snapshot)).toContain('warning SourceUnread source machines');
      expect(offOf(snapshot)).toEqual([]);
    }
  });
});
