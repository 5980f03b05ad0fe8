import { describe, expect, it } from 'vitest';
import { audit, auditUnopened } from '../../../lambdas/audit/audit.ts';
import type { AuditSource } from '../../../lambdas/audit/audit-source.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { certManager } from '../../../lambdas/audit/sources/cert-manager.ts';
import { clusterSecrets } from '../../../lambdas/audit/sources/cluster-secrets.ts';
import { eksAuthorities } from '../../../lambdas/audit/sources/eks.ts';
import { eksAnywhere } from '../../../lambdas/audit/sources/eks-anywhere.ts';
import { kubeadmConfigs } from '../../../lambdas/audit/sources/kubeadm-configs.ts';
import { etcdadmCluster, kubeadmControlPlane } from '../../../lambdas/audit/sources/machine-groups.ts';
import { machines } from '../../../lambdas/audit/sources/machines.ts';
import { nodes } from '../../../lambdas/audit/sources/nodes.ts';
import { trustConfigMaps } from '../../../lambdas/audit/sources/trust-configmaps.ts';
import type { EksAuthority } from '../../../lambdas/aws/eks-audit.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import {
  controlPlaneMachine,
  etcdMachine,
  kubeadmControlPlane as madeControlPlane,
  workerMachine,
} from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { base64, createPki } from './sources/certificates.ts';
import { type Answers, contextOf, failure, fakeClient, NOW } from './sources/fake-cluster.ts';
import { eksContext, serving } from './sources/fake-management.ts';

const DAY = 86_400_000;
const NAMESPACE = '/namespaces/eksa-system';
const MACHINES = `/apis/cluster.x-k8s.io/v1beta2${NAMESPACE}/machines`;
const PLANES = `/apis/controlplane.cluster.x-k8s.io/v1beta2${NAMESPACE}/kubeadmcontrolplanes`;
const ETCD = `/apis/etcdcluster.cluster.x-k8s.io/v1beta1${NAMESPACE}/etcdadmclusters`;
const CLUSTERS = '/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters';
const CERTIFICATES = '/apis/cert-manager.io/v1/certificates';

const OF = { provider: PROVIDERS['Nutanix, 0.26'], name: 'berlin' };
/** It has no Node yet. */
const made = ({ metadata, ...machine }: ReturnType<typeof etcdMachine>, days: number) => ({
  ...machine,
  metadata: { ...metadata, creationTimestamp: new Date(NOW - days * DAY).toISOString() },
  status: { ...machine.status, nodeRef: undefined },
});
const etcd = (days: number) => made(etcdMachine(OF, { name: 'etcd-1', address: '10.0.0.3' }), days);
const controlPlane = (name: string, days: number) => made(controlPlaneMachine(OF, { name, address: '10.0.0.4' }), days);
const EMPTY: Answers = { '/api/v1/nodes': [] };

interface Clusters {
  readonly management: Answers;
  /** @default the management cluster: it manages itself */
  readonly workload?: Answers;
}

/** One audit after the other, a quarter of an hour apart; what each found. */
async function audited(sources: readonly AuditSource[], given: readonly Clusters[]): Promise<readonly Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for (const [index, clusters] of given.entries()) {
    const management = fakeClient(clusters.management);
    const workload = clusters.workload === undefined ? management : fakeClient(clusters.workload);
    const { target, signal } = contextOf(workload, { reach: { handshakes: false } });
    const report = await audit(
      { ...target, management },
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

const YOUNG = controlPlane('cp-1', 10);
const OLD_ETCD: Answers = { ...EMPTY, ...serving('v1beta2'), [MACHINES]: [etcd(364), YOUNG], [PLANES]: [] };
const UNKNOWN_VERSION: Answers = { ...OLD_ETCD, '/apis/cluster.x-k8s.io': { versions: [{ version: 'v1' }] } };

describe('a 404 of what was there before is a read that failed', () => {
  it.each([
    ['Cluster API of a cluster that manages itself', EMPTY],
    ['Cluster API in a version that nobody knows', UNKNOWN_VERSION],
  ])('%s', async (_, lost) => {
    const all = [nodes, machines, etcdadmCluster, eksAnywhere];
    const [first, ...later] = await audited(
      all,
      [OLD_ETCD, lost, lost, lost].map((management) => ({ management })),
    );
    const before = first === undefined ? [] : found(first);
    expect(new Set(before)).toEqual(
      new Set([
        'critical CertificateExpiring apiserver-etcd-client Secret eksa-system/berlin-apiserver-etcd-client tls.crt',
        'critical CertificateExpiring etcd-peer etcd-1',
        'critical CertificateExpiring etcd-server etcd-1',
      ]),
    );
    for (const snapshot of later) {
      expect(found(snapshot)).toEqual(expect.arrayContaining([...before]));
      expect(found(snapshot)).toContain('warning SourceUnread source machines');
      expect(offOf(snapshot)).toEqual([]);
    }
  });

  const young = { ...OLD_ETCD, [MACHINES]: [etcd(10), YOUNG] };
  const ended = { machine: 'etcd-1', expiresInDays: -1 };
  const status = { notBefore: '2026-08-20T00:00:00Z', notAfter: '2026-11-20T00:00:00Z' };
  it.each<[AuditSource, string, unknown]>([
    [
      eksAnywhere,
      CLUSTERS,
      { metadata: { name: 'berlin', namespace: 'default' }, spec: {}, status: { clusterCertificateInfo: [ended] } },
    ],
    [certManager, CERTIFICATES, { metadata: { name: 'web', namespace: 'shop' }, status }],
    [etcdadmCluster, ETCD, { metadata: { name: 'berlin-etcd', namespace: 'eksa-system' }, spec: { replicas: 3 } }],
  ])('$id', async (source, path, object) => {
    const [first, second] = await audited(
      [nodes, machines, source],
      [{ management: { ...young, [path]: [object] } }, { management: young }],
    );
    const before = first === undefined ? [] : found(first);
    // That a certificate of etcd ended bounds the others that were made with it.
    expect(before).toHaveLength(source === eksAnywhere ? 3 : 1);
    expect(second && found(second)).toEqual(
      expect.arrayContaining([...before, `warning SourceUnread source ${source.id}`]),
    );
  });

  it('one Secret of Cluster API', async () => {
    const pki = await createPki();
    const secret = { data: { 'tls.crt': base64(pki.ca.certificate) } };
    const ca = { ...young, [`/api/v1${NAMESPACE}/secrets/berlin-ca`]: secret };
    const both = { ...ca, [`/api/v1${NAMESPACE}/secrets/berlin-etcd`]: secret };
    const [, ...later] = await audited(
      [nodes, machines, clusterSecrets],
      [both, ca, ca].map((management) => ({ management })),
    );
    for (const snapshot of later) {
      expect(found(snapshot)).toContain('warning Unreachable cluster-secrets etcd-ca');
      expect(snapshot.observations).toContainEqual(expect.objectContaining({ kind: 'certificate', what: 'etcd-ca' }));
    }
  });

  it.each([
    ['client-ca-file', '/kube-system/configmaps/extension-apiserver-authentication', 'client-ca'],
    ['requestheader-client-ca-file', '/kube-system/configmaps/extension-apiserver-authentication', 'front-proxy-ca'],
  ])('the key %s of a ConfigMap', async (key, path, what) => {
    const pki = await createPki();
    const configMap = { [`/api/v1/namespaces${path}`]: { data: { [key]: pki.ca.certificate } } };
    const empty = { [`/api/v1/namespaces${path}`]: { data: {} } };
    const root = {
      '/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt': { data: { 'ca.crt': pki.ca.certificate } },
    };
    const [, second] = await audited(
      [nodes, trustConfigMaps],
      [configMap, empty].map((answers) => ({ management: { ...EMPTY, ...root, ...answers } })),
    );
    expect(second && found(second)).toContain(`warning Unreachable trust-configmaps ${what}`);
    expect(second?.observations).toContainEqual(expect.objectContaining({ kind: 'certificate', what }));
  });

  it('every Secret of Cluster API', async () => {
    const pki = await createPki();
    const path = `/api/v1${NAMESPACE}/secrets/berlin-ca`;
    const management = { ...young, [path]: { data: { 'tls.crt': base64(pki.ca.certificate) } } };
    const [, second] = await audited([nodes, machines, clusterSecrets], [{ management }, { management: young }]);
    expect(second && found(second)).toContain('warning SourceUnread source cluster-secrets');
    expect(second?.observations).toContainEqual(
      expect.objectContaining({ kind: 'certificate', source: 'cluster-secrets', what: 'cluster-ca' }),
    );
  });
});

it('another Cluster of EKS Anywhere of the same name takes no end of a certificate away', async () => {
  const cluster = (namespace: string) => ({
    metadata: { name: 'berlin', namespace },
    spec: {},
    status: { clusterCertificateInfo: [{ machine: 'cp-1', expiresInDays: 1 }] },
  });
  const own = { ...OLD_ETCD, [MACHINES]: [YOUNG], [CLUSTERS]: [cluster('default')] };
  const contested = { ...own, [CLUSTERS]: [cluster('default'), cluster('tenant-x')] };
  const [first, ...later] = await audited(
    [nodes, machines, eksAnywhere],
    [own, contested, contested].map((management) => ({ management })),
  );
  const before = first === undefined ? [] : critical(first);
  expect(before).toContain('critical CertificateExpiring kube-apiserver cp-1');
  for (const snapshot of later)
    expect(found(snapshot)).toEqual(expect.arrayContaining([...before, 'warning SourceUnread source eks-anywhere']));
});

describe('a 404 of what was never there', () => {
  it('is nothing, also the second time', async () => {
    const sources = [nodes, certManager, eksAnywhere, etcdadmCluster, clusterSecrets];
    for (const snapshot of await audited(sources, [{ management: EMPTY }, { management: EMPTY }])) {
      expect(found(snapshot)).toEqual([]);
      expect(new Set(snapshot.observations.map(({ kind }) => kind))).toEqual(new Set(['read']));
    }
  });

  it('is no Cluster API where a cluster is only taken for its own management cluster', async () => {
    const [snapshot] = await audited([nodes, machines], [{ management: EMPTY }]);
    expect(snapshot && found(snapshot)).toEqual([]);
    expect(snapshot && offOf(snapshot)).toEqual(['machines']);
    const [own] = await audited([nodes, kubeadmConfigs, kubeadmControlPlane], [{ management: EMPTY }]);
    expect(own?.observations.flatMap((seen) => (seen.kind === 'off' ? [seen.why] : []))).toEqual([
      'this cluster has no KubeadmConfig',
      'this cluster has no KubeadmControlPlane',
    ]);
  });

  it('is a read that failed where a management cluster was named', async () => {
    const [snapshot] = await audited([nodes, machines], [{ management: EMPTY, workload: EMPTY }]);
    expect(snapshot && found(snapshot)).toEqual(['warning SourceUnread source machines']);
  });
});

it('an audit of a cluster that nothing could be asked about asked nothing, and keeps what is known', async () => {
  const [previous] = await audited([nodes, machines], [{ management: OLD_ETCD }]);
  const { target } = contextOf(fakeClient({}));
  const problem = { kind: 'timeout', object: 'x', message: 'no answer', remedy: 'Look.' };
  const options = { previous, thresholds: DEFAULT_THRESHOLDS, clock: () => NOW + 900_000 };
  const { snapshot, ...cost } = await auditUnopened(target, problem, options);
  expect({ ...cost, version: snapshot.version }).toEqual({ durationMs: 0, requests: 0, version: 1 });
  expect(snapshot.observations.filter(({ kind }) => kind === 'unread')).toHaveLength(2);
  const before = previous === undefined ? [] : found(previous);
  expect(before).not.toEqual([]);
  expect(found(snapshot)).toEqual(expect.arrayContaining([...before, 'warning SourceUnread source nodes']));
});

it('a source of what a cluster does not have is neither asked nor told to be off', async () => {
  const { target, signal } = contextOf(fakeClient(EMPTY));
  const options = { previous: undefined, thresholds: DEFAULT_THRESHOLDS, clock: () => NOW, signal };
  const report = await audit(target, { ...options, sources: [nodes, machines] });
  const observations = [{ kind: 'read', source: 'nodes' }];
  expect(report).toMatchObject({ snapshot: { version: 1, observations }, durationMs: 0 });
});

describe('how long kubeadm makes certificates live', () => {
  const plane = {
    ...madeControlPlane(OF),
    spec: { replicas: 1, kubeadmConfigSpec: { clusterConfiguration: { certificateValidityPeriodDays: 90 } } },
  };
  const good: Answers = {
    ...EMPTY,
    ...serving('v1beta2'),
    [MACHINES]: [controlPlane('cp-1', 89)],
    [PLANES]: [plane],
  };
  it.each(['forbidden', 'timeout', 'not-found'] as const)('is not taken for a year when it is %s', async (kind) => {
    const lost = { ...good, [PLANES]: failure(kind) };
    const [first, second] = await audited(
      [nodes, machines, kubeadmControlPlane],
      [{ management: good }, { management: lost }],
    );
    expect(first && critical(first)).toHaveLength(5);
    expect(second && critical(second)).toEqual(first && critical(first));
    expect(second && found(second)).toContain('warning Unreachable machines kube-apiserver');
    // Nor where it was never known.
    const [alone] = await audited([nodes, machines, kubeadmControlPlane], [{ management: lost }]);
    expect(alone?.observations.some((seen) => seen.kind === 'certificate')).toBe(kind === 'not-found');
  });
});

describe('Machines of another namespace that say they are of this cluster', () => {
  const own = controlPlane('cp-1', 361);
  const foreign = (index: number) => {
    const object = controlPlane(`aaa-${index}`, 400);
    return { ...object, metadata: { ...object.metadata, namespace: 'tenant-x' } };
  };
  // As an API server that lists all namespaces at one path and one namespace at another.
  const having = (foreigners: number): Answers => {
    const others = Array.from({ length: foreigners }, (_, index) => foreign(index));
    return {
      ...EMPTY,
      ...serving('v1beta2'),
      [PLANES]: [],
      [MACHINES]: [own],
      [MACHINES.replace('namespaces/eksa-system/', '')]: [own, ...others],
      [MACHINES.replace('eksa-system', 'tenant-x')]: others,
    };
  };

  it.each([1, 30])('change nothing of what an audit finds: %i of them', async (count) => {
    const [alone] = await audited([nodes, machines, kubeadmControlPlane], [{ management: having(0) }]);
    const [beside] = await audited([nodes, machines, kubeadmControlPlane], [{ management: having(count) }]);
    expect(alone && critical(alone)).toContain('critical CertificateExpiring kube-apiserver cp-1');
    expect(beside?.findings).toEqual(alone?.findings);
    expect(beside?.observations).toEqual(alone?.observations);
  });

  it('leave none of the control plane: an audit that sees workers only says so', async () => {
    const workers = { ...having(1), [MACHINES]: [made(workerMachine(OF, { name: 'md-1', address: '10.0.0.5' }), 10)] };
    const [first] = await audited([nodes, machines, kubeadmControlPlane], [{ management: workers }]);
    expect(first && found(first)).toEqual(['warning CoverageShrunk control-plane machines']);
  });

  it('are not taken for those of a cluster whose namespace fleet.yaml does not name: the audit says where it looked', async () => {
    const elsewhere = { ...having(1), [MACHINES]: [] };
    const [first] = await audited([nodes, machines, kubeadmControlPlane], [{ management: elsewhere }]);
    expect(first && found(first)).toEqual(['warning SourceUnread source machines']);
    expect(first?.findings[0]).toMatchObject({
      facts: { message: expect.stringContaining('namespace eksa-system has no Machine of cluster berlin') },
    });
  });
});

describe('an EKS cluster', () => {
  const HOUR = 3_600_000;
  const AUTHORITY = {
    id: 'ca-1',
    createdAt: NOW - 30 * DAY,
    notAfter: NOW + 3_000 * DAY,
    signingStatus: 'IN_USE',
    distributionStatus: 'COMPLETE',
  } as const;

  /** A first audit, and a quarter of an hour later one that does not ask EKS. */
  async function askedOnce(authorities: () => Promise<readonly EksAuthority[]>) {
    let asks = 0;
    const count = async () => {
      asks += 1;
      return authorities();
    };
    const { target, signal } = eksContext({ authorities: count });
    const options = { thresholds: DEFAULT_THRESHOLDS, signal, sources: [eksAuthorities] };
    const first = await audit(target, { ...options, previous: undefined, clock: () => NOW });
    const later = { ...options, previous: first.snapshot, clock: () => NOW + HOUR / 4, withoutEks: true } as const;
    return { asks, first: first.snapshot, second: (await audit(target, later)).snapshot };
  }

  it.each<[string, () => Promise<readonly EksAuthority[]>]>([
    ['answers', async () => [AUTHORITY]],
    ['says that the distribution failed', async () => [{ ...AUTHORITY, distributionStatus: 'FAILED' }]],
    [
      'does not answer',
      () => Promise.reject(new AwsError({ kind: 'denied', object: 'eks:X', problem: 'no', remedy: 'Allow it.' })),
    ],
  ])('that %s is not asked while others are, and what is known stays', async (_, authorities) => {
    const { asks, first, second } = await askedOnce(authorities);
    expect(asks).toBe(1);
    const known = ({ observations }: Snapshot) => observations.filter(({ source }) => source === 'eks-authorities');
    expect(known(first).length).toBeGreaterThan(0);
    expect(known(second)).toEqual(known(first));
    expect(second.findings.map(({ code }) => code)).toEqual(first.findings.map(({ code }) => code));
  });
});
