import { expect, it, test } from 'vitest';

import { eksAnywhere } from '../../../../lambdas/audit/sources/eks-anywhere.ts';
import { contextOf, failure, fakeClient, outline, TOLD } from './fake-cluster.ts';
import { machineMember, observeManaged } from './fake-management.ts';

const PATH = '/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters';
const DAY_MS = 86_400_000;
const MEMBERS = [
  machineMember('berlin-cp', 'control-plane', 'node-1'),
  machineMember('berlin-etcd', 'etcd'),
  machineMember('berlin-md-0', 'worker'),
];
const INFO = [
  { machine: 'berlin-etcd', expiresInDays: 365 },
  { machine: 'berlin-cp', expiresInDays: 30 },
  { machine: 'gone', expiresInDays: 1 },
];
const READY = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };

const cluster = (status: object, metadata: object = {}, spec: object = { eksaVersion: 'v0.24.1' }) => ({
  metadata: { name: 'berlin', namespace: 'default', ...metadata },
  spec,
  status: { conditions: [READY], ...status },
});
const observe = async (object: unknown, members = MEMBERS) =>
  observeManaged(eksAnywhere, { [PATH]: [object] }, { members });

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
      renewedBy: 'a rollout of the etcd machines',
    },
  ]);
  expect(read.client.calls).toMatchObject([{ path: PATH, query: { fieldSelector: 'metadata.name=berlin' } }]);
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

test('a machine younger than a day may not have been looked at', async () => {
  const young = { ...machineMember('berlin-new', 'control-plane'), createdAt: '2026-11-20T12:00:00.000Z' };
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
  const read = await observe(cluster({ clusterCertificateInfo: info }, { namespace: evil }));
  expect(outline(read).map((line) => line.slice(-7))).toEqual(['missing', 'missing']);
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
