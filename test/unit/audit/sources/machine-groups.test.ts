import { describe, expect, it, test } from 'vitest';
import { clusterSecrets } from '../../../../lambdas/audit/sources/cluster-secrets.ts';
import { eksAnywhere } from '../../../../lambdas/audit/sources/eks-anywhere.ts';
import { kubeadmConfigs } from '../../../../lambdas/audit/sources/kubeadm-configs.ts';
import { etcdadmCluster, kubeadmControlPlane } from '../../../../lambdas/audit/sources/machine-groups.ts';
import { machines } from '../../../../lambdas/audit/sources/machines.ts';
import { kubeadmControlPlane as madeControlPlane, etcdadmCluster as madeEtcd } from '../../../providers/objects.ts';
import { PROVIDERS } from '../../../providers/table.ts';
import { contextOf, failure, fakeClient, TOLD } from './fake-cluster.ts';
import { NAMESPACE, observeManaged, serving } from './fake-management.ts';

const planesOf = (version: string) =>
  `/apis/controlplane.cluster.x-k8s.io/${version}/namespaces/${NAMESPACE}/kubeadmcontrolplanes`;
const ETCD = `/apis/etcdcluster.cluster.x-k8s.io/v1beta1/namespaces/${NAMESPACE}/etcdadmclusters`;

const OF = { provider: PROVIDERS['Docker, 0.26'], name: 'berlin' };
const MADE = madeControlPlane(OF);
const plane = (spec: unknown, rest: object = {}, metadata: object = {}) => ({
  metadata: { ...MADE.metadata, ...metadata },
  spec,
  ...rest,
});
const answering = (...items: unknown[]) => ({ ...serving('v1beta2'), [planesOf('v1beta2')]: items });
const GROUP = {
  kind: 'group',
  source: 'kubeadm-control-plane',
  ...TOLD,
  role: 'control-plane',
  name: 'KubeadmControlPlane eksa-system/berlin',
};

describe('kubeadm-control-plane', () => {
  it.each([
    ['v1beta2', { replicas: 3, rollout: { before: { certificatesExpiryDays: 21 } } }],
    ['v1beta1', { replicas: 3, rolloutBefore: { certificatesExpiryDays: 21 } }],
  ])('%s', async (version, spec) => {
    const read = await observeManaged(kubeadmControlPlane, { ...serving(version), [planesOf(version)]: [plane(spec)] });
    expect(read).toMatchObject({ count: 1 });
    expect(read.observations).toEqual([{ ...GROUP, wanted: 3, rolloutBeforeDays: 21 }]);
    expect(read.client.calls.map(({ path, query }) => [path, query?.['labelSelector']])).toEqual([
      ['/apis/controlplane.cluster.x-k8s.io', undefined],
      [planesOf(version), 'cluster.x-k8s.io/cluster-name=berlin'],
    ]);
  });

  it.each<[string, object, object]>([
    ['one replica where there is none', plane({}), { wanted: 1 }],
    ['null as none', plane({ replicas: null, rollout: null }), { wanted: 1 }],
    ['no replica', plane({ replicas: 0 }), { wanted: 0 }],
    ['0 days as never', plane({ replicas: 1, rollout: { before: { certificatesExpiryDays: 0 } } }), { wanted: 1 }],
    ['days as text as never', plane({ replicas: 1, rolloutBefore: { certificatesExpiryDays: '21' } }), { wanted: 1 }],
    [
      'paused, whatever the value',
      plane({ replicas: 3 }, {}, { annotations: { 'cluster.x-k8s.io/paused': 'false' } }),
      { wanted: 3, paused: true },
    ],
    [
      'paused by its Cluster',
      plane({ replicas: 3 }, { status: { conditions: [{ type: 'Paused', status: 'True' }] } }),
      { wanted: 3, paused: true },
    ],
    [
      'paused, in v1beta1',
      plane({ replicas: 3 }, { status: { v1beta2: { conditions: [{ type: 'Paused', status: 'True' }] } } }),
      { wanted: 3, paused: true },
    ],
    [
      'not paused',
      plane({ replicas: 3 }, { status: { conditions: [null, 'x', { type: 'Paused', status: 'False' }] } }),
      { wanted: 3 },
    ],
  ])('reads %s', async (_, object, expected) => {
    expect((await observeManaged(kubeadmControlPlane, answering(object))).observations).toEqual([
      { ...GROUP, ...expected },
    ]);
  });

  it.each(['3', -1, 1.5, 2 ** 31, {}, true])('%j replicas are no number of machines', async (replicas) => {
    expect((await observeManaged(kubeadmControlPlane, answering(plane({ replicas })))).observations).toMatchObject([
      { kind: 'unread', where: GROUP.name, problem: 'malformed' },
    ]);
  });

  it('one that is being deleted wants nothing', async () => {
    const leaving = plane({ replicas: 3 }, {}, { deletionTimestamp: '2026-11-21T11:00:00Z' });
    expect((await observeManaged(kubeadmControlPlane, answering(leaving))).observations).toEqual([]);
  });

  it('of more than ten the source is not read to its end', async () => {
    const read = await observeManaged(kubeadmControlPlane, answering(...Array.from({ length: 11 }, () => plane({}))));
    expect(read.observations).toHaveLength(11);
    expect(read.observations.at(-1)).toMatchObject({ kind: 'unread', problem: 'too-large' });
  });

  it('is thrown when it cannot be read at all', async () => {
    await expect(observeManaged(kubeadmControlPlane, {})).rejects.toMatchObject({ kind: 'not-found' });
  });
});

describe('etcdadm-cluster', () => {
  const made = madeEtcd(OF, []);
  const etcd = (replicas: unknown, metadata: object = {}) => ({
    ...made,
    metadata: { ...made.metadata, ...metadata },
    spec: { ...made.spec, replicas },
  });
  const group = {
    kind: 'group',
    source: 'etcdadm-cluster',
    ...TOLD,
    role: 'etcd',
    name: 'EtcdadmCluster eksa-system/berlin-etcd',
  };

  it('says how many etcd machines there should be, in one request', async () => {
    const read = await observeManaged(etcdadmCluster, { [ETCD]: [etcd(3)] });
    expect(read.observations).toEqual([{ ...group, wanted: 3 }]);
    expect(read.count).toBe(1);
    expect(read.client.calls).toMatchObject([{ path: ETCD, query: { fieldSelector: 'metadata.name=berlin-etcd' } }]);
  });

  it.each<[string, unknown, readonly object[]]>([
    ['paused', etcd(3, { annotations: { 'cluster.x-k8s.io/paused': '' } }), [{ wanted: 3, paused: true }]],
    ['no number', etcd('3'), [{ kind: 'unread', problem: 'malformed', where: group.name }]],
    ['none', etcd(undefined), [{ kind: 'unread', problem: 'malformed' }]],
    ['another one', etcd(3, { name: 'dublin-etcd' }), []],
    ['one on its way out', etcd(3, { deletionTimestamp: '2026-11-21T11:00:00Z' }), []],
    ['nothing', null, []],
  ])('%s', async (_, object, expected) => {
    const { observations } = await observeManaged(etcdadmCluster, { [ETCD]: [object] });
    expect(observations).toHaveLength(expected.length);
    expect(observations).toMatchObject(expected);
  });

  it('nobody misses it where it is not served', async () => {
    expect(etcdadmCluster.optional).toBe('always');
    await expect(observeManaged(etcdadmCluster, {})).rejects.toMatchObject({ kind: 'not-found' });
    await expect(observeManaged(etcdadmCluster, { [ETCD]: failure('forbidden') })).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });
});

const MANAGED = [machines, kubeadmControlPlane, etcdadmCluster, eksAnywhere, kubeadmConfigs, clusterSecrets];
test.each(MANAGED)('is off, and nobody misses it, without a management cluster: $id', async (source) => {
  const context = contextOf(fakeClient({}));
  const { target } = context;
  expect(source.off(target)).toBe(false);
  expect(await source.observe(context)).toEqual({ observations: [], count: 0 });
  expect(source.off({ ...target, management: fakeClient({}) })).toBeUndefined();
});
