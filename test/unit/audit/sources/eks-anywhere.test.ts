import { expect, it, test } from 'vitest';
import { eksAnywhere } from '../../../../lambdas/audit/sources/eks-anywhere.ts';
import type { MemberObservation } from '../../../../lambdas/contracts/observation.ts';
import { eksAnywhereCluster } from '../../../providers/objects.ts';
import { PROVIDERS } from '../../../providers/table.ts';
import { createPki } from './certificates.ts';
import { contextOf, failure, fakeClient, outline, TOLD } from './fake-cluster.ts';
import { machineMember, observeManaged } from './fake-management.ts';

const PATH = '/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters';
const IN_DEFAULT = PATH.replace('clusters', 'namespaces/default');
const DATACENTERS = `${IN_DEFAULT}/vspheredatacenterconfigs`;
const DAY_MS = 86_400_000;
const INTERNAL = [
  machineMember('berlin-cp', 'control-plane', 'node-1'),
  machineMember('berlin-etcd', 'etcd'),
  machineMember('berlin-md-0', 'worker'),
];
const MEMBERS: readonly MemberObservation[] = INTERNAL.map((member) => ({ ...member, externalIp: true as const }));
const INFO = [
  { machine: 'berlin-etcd', expiresInDays: 365 },
  { machine: 'berlin-cp', expiresInDays: 30 },
  { machine: 'gone', expiresInDays: 1 },
];
const READY = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };

const MADE = eksAnywhereCluster({ provider: PROVIDERS['vSphere, 0.26'], name: 'berlin' });
const cluster = (status: object, metadata: object = {}, spec: object = {}) => ({
  ...MADE,
  metadata: { ...MADE.metadata, ...metadata },
  spec: { ...MADE.spec, ...spec },
  status: { conditions: [READY], ...status },
});
const observe = async (object: unknown, members = MEMBERS) =>
  observeManaged(eksAnywhere, { [PATH]: [object], [DATACENTERS]: [] }, { members });

it('what EKS Anywhere found when it dialled the machines', async () => {
  const read = await observe(cluster({ clusterCertificateInfo: INFO }));
  expect(read.count).toBe(1);
  expect(read.observations).toEqual([
    {
      kind: 'certificate',
      source: 'eks-anywhere',
      ...TOLD,
      what: 'kube-apiserver',
      where: 'Cluster default/berlin status (machine berlin-cp)',
      member: 'node-1',
      basis: 'status',
      notAfter: '2026-12-21T12:00:00.000Z',
      precisionMs: DAY_MS,
      renewedBy: 'a rollout of the control plane machines',
    },
    {
      kind: 'certificate',
      source: 'eks-anywhere',
      ...TOLD,
      what: 'etcd-server',
      where: 'Cluster default/berlin status (machine berlin-etcd)',
      member: 'berlin-etcd',
      basis: 'status',
      notAfter: '2027-11-21T12:00:00.000Z',
      precisionMs: DAY_MS,
      renewedBy: 'a rollout of the machines that run etcd',
    },
  ]);
  expect(read.client.calls).toMatchObject([
    { path: PATH, query: { fieldSelector: 'metadata.name=berlin' } },
    { path: DATACENTERS, query: { fieldSelector: 'metadata.name=berlin' } },
  ]);
});

test('a machine that it leaves out is missing; a worker is not', async () => {
  const { observations } = await observe(cluster({ clusterCertificateInfo: INFO.slice(0, 1) }));
  expect(observations).toMatchObject([
    {
      kind: 'unread',
      what: 'kube-apiserver',
      where: 'Cluster default/berlin status (machine berlin-cp)',
      member: 'node-1',
      problem: 'missing',
      message: 'EKS Anywhere could not reach machine berlin-cp',
      remedy: expect.stringContaining('port 6443'),
    },
    { kind: 'certificate', what: 'etcd-server' },
  ]);
});

// EKS Anywhere dials the ExternalIP of a Machine and no other address. Source: EKS Anywhere, pkg/certificates/scanner.go, `getControlPlaneMachines`.
test('no machine without an ExternalIP is missing', async () => {
  expect((await observe(cluster({}), INTERNAL)).observations).toEqual([]);
  const mixed = await observe(cluster({ clusterCertificateInfo: [] }), [...MEMBERS.slice(0, 1), ...INTERNAL.slice(1)]);
  expect(outline(mixed)).toEqual([
    'unread kube-apiserver @ Cluster default/berlin status (machine berlin-cp): missing',
  ]);
});

test('a machine younger than a day may not have been looked at', async () => {
  const young = {
    ...machineMember('berlin-new', 'control-plane'),
    externalIp: true as const,
    createdAt: '2026-11-20T12:00:00.000Z',
  };
  expect((await observe(cluster({ clusterCertificateInfo: [] }), [young])).observations).toEqual([]);
});

test.each([
  ['v0.22.6', 0],
  ['v0.23.0', 2],
  ['v0.26.1+abcdef', 2],
  ['v1.0.0', 2],
  ['v0.0.0-dev+build', 0],
  [undefined, 0],
  [{}, 0],
])('without the list at all, EKS Anywhere %j leaves out %i machines', async (eksaVersion, missing) => {
  const { observations } = await observe(cluster({}, {}, { eksaVersion }));
  expect(observations.filter((seen) => seen.kind === 'unread' && seen.problem === 'missing')).toHaveLength(missing);
});

// The status has no time, and a count that nobody renews must not move on with the clock.
test.each<[string, object, object, string]>([
  [
    'the newest write of the status',
    {},
    {
      managedFields: [
        { manager: 'kubectl', operation: 'Update', time: '2026-11-21T11:00:00Z' },
        { manager: 'manager', subresource: 'status', time: '2026-10-01T00:00:00Z' },
        { manager: 'manager', subresource: 'status', time: '2026-11-01T00:00:00Z' },
      ],
    },
    '2026-12-01T00:00:00.000Z',
  ],
  [
    'the loss of readiness',
    { conditions: [{ ...READY, status: 'False', lastTransitionTime: '2026-10-21T00:00:00Z' }] },
    { managedFields: [{ subresource: 'status', time: '2026-11-20T00:00:00Z' }] },
    '2026-11-20T00:00:00.000Z',
  ],
  ['now, where there is nothing', { conditions: [] }, { managedFields: null }, '2026-12-21T12:00:00.000Z'],
  [
    'never later than now',
    {},
    { managedFields: [{ subresource: 'status', time: '2036-11-20T00:00:00Z' }] },
    '2026-12-21T12:00:00.000Z',
  ],
  [
    'now, for times that are none',
    {},
    { managedFields: [null, { subresource: 'status', time: 'x' }] },
    '2026-12-21T12:00:00.000Z',
  ],
])('days count from %s', async (_, status, metadata, notAfter) => {
  const { observations } = await observe(cluster({ clusterCertificateInfo: INFO, ...status }, metadata));
  expect(observations[0]).toMatchObject({ what: 'kube-apiserver', notAfter });
});

test('one that has ended', async () => {
  const { observations } = await observe(
    cluster({ clusterCertificateInfo: [{ machine: 'berlin-cp', expiresInDays: -3 }] }),
  );
  expect(observations[0]).toMatchObject({ notAfter: '2026-11-18T12:00:00.000Z' });
});

test('one that ended before 1970 says that it ended then: a time of before may be none that can be read', async () => {
  const managedFields = [{ subresource: 'status', time: '0001-01-01T00:00:00Z' }];
  const { observations } = await observe(
    cluster({ clusterCertificateInfo: [{ machine: 'berlin-cp', expiresInDays: -36_525 }] }, { managedFields }),
  );
  expect(observations[0]).toMatchObject({ notAfter: '1970-01-01T00:00:00.000Z' });
});

test.each(['30', 1.5, 1e9, -1e9, null, {}])('%j is no number of days', async (expiresInDays) => {
  const { observations } = await observe(
    cluster({ clusterCertificateInfo: [{ machine: 'berlin-cp', expiresInDays }] }),
  );
  expect(observations[0]).toMatchObject({ kind: 'unread', problem: 'malformed', member: 'node-1' });
});

test.each([null, 'x', {}, { metadata: {} }, { metadata: { name: 'dublin', namespace: 'default' } }])(
  '%j is not the Cluster',
  async (object) => {
    expect((await observe(object)).observations).toEqual([]);
  },
);

test('hostile values', async () => {
  const evil = `\u001b[2J${'x'.repeat(500)}`;
  const info = [
    null,
    'x',
    { machine: 7 },
    ...Array.from({ length: 10_000 }, () => ({ machine: evil, expiresInDays: 3 })),
  ];
  const status = { clusterCertificateInfo: info };
  const read = await observe(cluster(status, { namespace: evil.slice(0, 253) }));
  expect(outline(read).map((line) => line.slice(-7))).toEqual(['missing', 'missing', 'invalid']);
  expect(JSON.stringify(read.observations)).not.toContain('\\u001b');
  // No namespace has such a name.
  expect((await observe(cluster(status, { namespace: evil }))).observations).toEqual([]);
});

test('a status that was written very often', async () => {
  const managedFields = Array.from({ length: 130_000 }, () => ({
    subresource: 'status',
    time: '2026-11-01T00:00:00Z',
  }));
  const { observations } = await observe(cluster({ clusterCertificateInfo: INFO }, { managedFields }));
  expect(observations[0]).toMatchObject({ notAfter: '2026-12-01T00:00:00.000Z' });
});

test('nobody misses it where EKS Anywhere is not', async () => {
  expect(eksAnywhere.optional).toBe('always');
  await expect(observeManaged(eksAnywhere, {}, { members: MEMBERS })).rejects.toMatchObject({ kind: 'not-found' });
  const denied = observeManaged(eksAnywhere, { [PATH]: failure('forbidden') });
  await expect(denied).rejects.toMatchObject({ kind: 'forbidden' });
  expect(eksAnywhere.off(contextOf(fakeClient({})).target)).toBe(false);
});

const tenants = { namespace: 'tenant-x' };
const lies = { clusterCertificateInfo: [{ machine: 'berlin-cp', expiresInDays: -3 }] };

test('two of the name, and fleet.yaml does not say which one is the owner’s: neither is believed, and that is one warning', async () => {
  const objects = [cluster({ clusterCertificateInfo: INFO }), cluster(lies, tenants)];
  const { observations } = await observeManaged(eksAnywhere, { [PATH]: objects }, { members: MEMBERS });
  expect(observations).toEqual([
    {
      kind: 'unread',
      source: 'eks-anywhere',
      ...TOLD,
      problem: 'ambiguous',
      message:
        "Cluster berlin of EKS Anywhere: more than one has this name, in the namespaces default, tenant-x, and fleet.yaml does not say which one is the owner's",
      remedy: expect.stringContaining('eksAnywhereNamespace'),
    },
  ]);
});

test('a hundred of the name are one warning too', async () => {
  const objects = Array.from({ length: 100 }, (_, index) => cluster(lies, { namespace: `tenant-${index}` }));
  const { observations } = await observeManaged(eksAnywhere, { [PATH]: objects }, { members: MEMBERS });
  expect(observations).toMatchObject([{ problem: 'ambiguous', message: expect.stringContaining('and 5 more') }]);
});

test('the one in the namespace that fleet.yaml names is asked alone', async () => {
  const named = PATH.replace('/clusters', '/namespaces/default/clusters');
  const answers = { [named]: [cluster({ clusterCertificateInfo: INFO }), cluster(lies, tenants)], [DATACENTERS]: [] };
  const read = await observeManaged(eksAnywhere, answers, { members: MEMBERS, eksAnywhereNamespace: 'default' });
  expect(read.observations.map(({ kind }) => kind)).toEqual(['certificate', 'certificate']);
  expect(read.client.calls.map(({ path }) => path)).toEqual([named, DATACENTERS]);
});

test('certificates that new machines trust, of the Cluster and of what it names', async () => {
  const { ca } = await createPki();
  const group = (kind: string) => ({ machineGroupRef: { kind, name: 'cp' } });
  const spec = {
    registryMirrorConfiguration: { caCertContent: ca.certificate },
    controlPlaneConfiguration: group('VSphereMachineConfig'),
    // Its kind is not asked for: no machine of it trusts more.
    externalEtcdConfiguration: group('Secret'),
  };
  const certBundles = [{ name: 'proxy', data: 'no PEM' }];
  const machines = { kind: 'VSphereMachineConfig', metadata: { namespace: 'default', name: 'cp' } };
  const answers = {
    [PATH]: [cluster({}, {}, spec)],
    [DATACENTERS]: failure('forbidden'),
    [`${IN_DEFAULT}/vspheremachineconfigs`]: [{ ...machines, spec: { hostOSConfiguration: { certBundles } } }],
  };
  const { observations } = await observeManaged(eksAnywhere, answers, { members: [] });
  expect(observations).toMatchObject([
    {
      kind: 'certificate',
      what: 'ca-bundle',
      where: 'Cluster default/berlin spec.registryMirrorConfiguration.caCertContent',
      subject: 'CN=kubernetes',
    },
    {
      kind: 'unread',
      what: 'ca-bundle',
      where: 'VSphereMachineConfig default/cp spec.hostOSConfiguration.certBundles[0]',
      problem: 'malformed',
    },
    { kind: 'unread', problem: 'forbidden' },
  ]);
});

test('a namespace that has none is told', async () => {
  const named = PATH.replace('/clusters', '/namespaces/platform/clusters');
  const read = await observeManaged(
    eksAnywhere,
    { [named]: [] },
    { members: MEMBERS, eksAnywhereNamespace: 'platform' },
  );
  expect(read.observations).toMatchObject([
    {
      kind: 'unread',
      problem: 'missing',
      message: 'Cluster platform/berlin of EKS Anywhere: fleet.yaml names this namespace, and no such Cluster is in it',
    },
  ]);
});
