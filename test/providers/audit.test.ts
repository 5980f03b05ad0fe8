import { describe, expect, it } from 'vitest';
import { audit } from '../../lambdas/audit/audit.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { clusterSecrets } from '../../lambdas/audit/sources/cluster-secrets.ts';
import { eksAnywhere } from '../../lambdas/audit/sources/eks-anywhere.ts';
import { etcdadmCluster, kubeadmControlPlane } from '../../lambdas/audit/sources/machine-groups.ts';
import { machines } from '../../lambdas/audit/sources/machines.ts';
import { contextOf } from '../unit/audit/sources/fake-cluster.ts';
import { born, bornEtcd, NAME, NAMESPACE, NOW } from '../unit/rollout/fixtures.ts';
import { healthyWorld, withEtcd } from '../unit/rollout/world.ts';
import { addressesOf, isScanned, nodeOf } from './objects.ts';
import { type Born, EVERYWHERE, type Provider, ROWS } from './table.ts';

/** @param scan machines in `clusterCertificateInfo` */
async function audited(provider: Provider, external: boolean, scan: readonly Born[]) {
  const world = healthyWorld('v1beta2', provider);
  if (external) withEtcd(world);
  const { management, paths } = world;
  const clusterCertificateInfo = scan.map(({ name }) => ({ machine: name, expiresInDays: 39 }));
  management.change(paths.eksAnywhere, { status: { clusterCertificateInfo } });
  const { target, signal } = contextOf(management.client, { reach: { handshakes: false } });
  const { snapshot } = await audit(
    { ...target, id: NAME, cluster: { name: NAME, provider: 'eks-anywhere' }, management: management.client },
    {
      previous: undefined,
      thresholds: DEFAULT_THRESHOLDS,
      clock: () => NOW,
      signal,
      sources: [machines, kubeadmControlPlane, etcdadmCluster, eksAnywhere],
    },
  );
  return snapshot;
}

const CONTROL_PLANE = [1, 2, 3].map(born);
const ETCD = [1, 2, 3].map(bornEtcd);

it('asks for no Secret but those that there are', async () => {
  const { management } = healthyWorld();
  const { target, signal } = contextOf(management.client);
  const read = clusterSecrets.observe({
    ...contextOf(management.client),
    target: { ...target, cluster: { name: NAME, provider: 'eks-anywhere' }, management: management.client },
    signal,
  });
  await expect(read).rejects.toMatchObject({ kind: 'not-found' });
  const { stacked, external, awsIam } = EVERYWHERE.secrets.value;
  const asked = management.made.map(({ path }) => path.replace(`/api/v1/namespaces/${NAMESPACE}/secrets/${NAME}-`, ''));
  expect(asked.length).toBeGreaterThan(3);
  expect(asked.filter((name) => ![...stacked, ...external, ...awsIam].includes(name))).toEqual([]);
});

describe.each(
  ROWS.flatMap(({ row, provider }) =>
    (provider.externalEtcd.value ? [false, true] : [false]).map((external) => ({
      row: `${row}, ${external ? 'external' : 'stacked'} etcd`,
      provider,
      external,
    })),
  ),
)('on $row', ({ provider, external }) => {
  const all = [...CONTROL_PLANE, ...(external ? ETCD : [])];
  const scanned = all.filter((one) => isScanned(provider, one));

  it('every machine is seen, with its Node and the addresses that it has', async () => {
    const { observations } = await audited(provider, external, scanned);
    const seen = observations.flatMap((one) => (one.kind === 'member' ? [one] : []));
    const member = (one: Born, role: string, node?: string) => ({
      role,
      name: `Machine ${NAMESPACE}/${one.name}`,
      node,
      addresses: addressesOf(provider, one).length === 0 ? [] : [one.address],
    });
    expect(seen.map(({ role, name, node, addresses }) => ({ role, name, node, addresses }))).toEqual([
      ...CONTROL_PLANE.map((one) => member(one, 'control-plane', nodeOf(provider, one))),
      ...(external ? ETCD.map((one) => member(one, 'etcd')) : []),
    ]);
  });

  it('EKS Anywhere tells of those with an ExternalIP, and of no other is anything missing', async () => {
    const { observations, findings } = await audited(provider, external, scanned);
    const told = observations.filter(({ source }) => source === 'eks-anywhere');
    expect(told.flatMap((one) => (one.kind === 'certificate' ? [one.where] : []))).toEqual(
      scanned.map(({ name }) => `Cluster default/${NAME} status (machine ${name})`),
    );
    expect(told.filter(({ kind }) => kind === 'unread')).toEqual([]);
    expect(findings.filter(({ code }) => ['SourcePartial', 'SourceUnread'].includes(code))).toEqual([]);
  });

  it('each that it leaves out is told', async () => {
    const { observations } = await audited(provider, external, []);
    expect(observations.flatMap((one) => (one.kind === 'unread' ? [one.message] : []))).toEqual(
      scanned.map(({ name }) => `EKS Anywhere could not reach machine ${name}`),
    );
  });

  it('when the certificates of each machine end is known', async () => {
    const { observations, findings } = await audited(provider, external, scanned);
    const etcd = ['etcd-server', 'etcd-peer'];
    const ofControlPlane = [
      'kube-apiserver',
      'control-plane-clients',
      ...(external ? [] : [...etcd, 'etcd-healthcheck-client']),
    ];
    expect(
      observations.flatMap((one) =>
        one.kind === 'certificate' && one.source === 'machines'
          ? [`${one.what} of ${one.member ?? 'the cluster'}`]
          : [],
      ),
    ).toEqual([
      ...CONTROL_PLANE.flatMap((one) => ofControlPlane.map((what) => `${what} of ${nodeOf(provider, one)}`)),
      ...(external ? ETCD.flatMap(({ name }) => etcd.map((what) => `${what} of ${name}`)) : []),
      ...(external ? ['apiserver-etcd-client of the cluster'] : []),
    ]);
    expect(findings.filter(({ code }) => code === 'ExpiryUnknown')).toEqual([]);
  });
});
