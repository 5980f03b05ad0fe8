import { expect, it, test } from 'vitest';
import { kubeadmConfigs } from '../../../../lambdas/audit/sources/kubeadm-configs.ts';
import { failure, outline, TOLD } from './fake-cluster.ts';
import { machineMember, NAMESPACE, observeManaged, serving, VERSIONS } from './fake-management.ts';

const ANNOTATION = 'machine.cluster.x-k8s.io/certificates-expiry';
const TOKEN = 'abcdef.0123456789abcdef';
const pathOf = (version: string) =>
  `/apis/bootstrap.cluster.x-k8s.io/${version}/namespaces/${NAMESPACE}/kubeadmconfigs`;

function config(
  name: string,
  expiry: unknown,
  owner: unknown = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', name },
) {
  return {
    metadata: {
      name,
      namespace: NAMESPACE,
      annotations: { [ANNOTATION]: expiry },
      ownerReferences: [
        { apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1', kind: 'KubeadmControlPlane', name: 'berlin' },
        owner,
      ],
    },
    spec: {
      joinConfiguration: { discovery: { bootstrapToken: { token: TOKEN } } },
      files: [{ path: '/etc/kubernetes/pki/ca.key', content: 'PRIVATE KEY' }],
    },
  };
}

const answering = (...items: unknown[]) => ({ ...serving('v1beta2'), [pathOf('v1beta2')]: items });

it.each(VERSIONS)('what the control plane provider wrote down, %s', async (version) => {
  const items = [config('cp-1', '2027-03-01T10:04:11Z'), config('cp-2', undefined)];
  const read = await observeManaged(
    kubeadmConfigs,
    { ...serving(version), [pathOf(version)]: items },
    { members: [machineMember('cp-1', 'control-plane', 'node-1'), machineMember('cp-2', 'control-plane')] },
  );
  expect(read).toMatchObject({ count: 2 });
  expect(read.observations).toEqual([
    {
      kind: 'certificate',
      source: 'kubeadm-configs',
      ...TOLD,
      what: 'kube-apiserver',
      where: 'KubeadmConfig eksa-system/cp-1',
      member: 'node-1',
      basis: 'annotation',
      notAfter: '2027-03-01T10:04:11.000Z',
      renewedBy: 'a rollout of the control plane machines',
    },
  ]);
  // Those of workers are not asked for.
  expect(read.client.calls.map(({ path, query }) => [path, query?.['labelSelector']])).toEqual([
    ['/apis/bootstrap.cluster.x-k8s.io', undefined],
    [pathOf(version), 'cluster.x-k8s.io/cluster-name=berlin,cluster.x-k8s.io/control-plane'],
  ]);
});

test('nothing of what a machine is given to start with is kept', async () => {
  const read = await observeManaged(kubeadmConfigs, answering(config('cp-1', TOKEN)));
  expect(outline(read)).toEqual(['unread kube-apiserver @ KubeadmConfig eksa-system/cp-1: malformed']);
  expect(JSON.stringify(read.observations)).not.toMatch(/abcdef|PRIVATE/);
});

test('a Machine that is gone, or on its way out, has no certificate', async () => {
  const members = [machineMember('cp-1', 'control-plane')];
  const configs = answering(config('cp-1', '2027-03-01T10:04:11Z'), config('cp-0', '2026-11-22T00:00:00Z'));
  expect(outline(await observeManaged(kubeadmConfigs, configs, { members }))).toEqual([
    'certificate kube-apiserver @ KubeadmConfig eksa-system/cp-1 #0',
  ]);
});

test('where no Machine is known, each counts, by the name of its Machine', async () => {
  const read = await observeManaged(kubeadmConfigs, answering(config('cp-0', '2026-11-22T00:00:00Z')));
  expect(read.observations).toMatchObject([{ member: 'cp-0' }]);
});

test.each([
  ['null', null],
  ['text', 'x'],
  ['one of another kind', { apiVersion: 'v1', kind: 'Machine', name: 'cp-1' }],
  ['one without a name', { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', name: {} }],
])('an owner that is no Machine: %s', async (_, owner) => {
  const read = await observeManaged(kubeadmConfigs, answering(config('cp-1', '2027-03-01T10:04:11Z', owner)));
  expect(outline(read)).toEqual(['certificate kube-apiserver @ KubeadmConfig eksa-system/cp-1 #0']);
  expect(read.observations[0]).not.toHaveProperty('member', expect.anything());
});

test.each([null, 'x', [], { metadata: 'x' }, { metadata: { annotations: [] } }, { metadata: { name: 7 } }])(
  '%j says nothing',
  async (strange) => {
    expect(await observeManaged(kubeadmConfigs, answering(strange))).toMatchObject({ observations: [], count: 1 });
  },
);

test('values are bounded', async () => {
  const evil = `\u001b[2J\u202e${'x'.repeat(2_000)}`;
  const strange = config(evil, evil);
  const read = await observeManaged(kubeadmConfigs, answering(...Array.from({ length: 1_001 }, () => strange)));
  expect(read.observations).toHaveLength(1_001);
  expect(read.observations.at(-1)).toMatchObject({ kind: 'unread', problem: 'too-large' });
});

test('what cannot be read at all is thrown', async () => {
  const answers = { ...serving('v1beta2'), [pathOf('v1beta2')]: failure('forbidden') };
  await expect(observeManaged(kubeadmConfigs, answers)).rejects.toMatchObject({ kind: 'forbidden' });
});
