import { describe, expect, it, test } from 'vitest';
import { machines } from '../../../../lambdas/audit/sources/machines.ts';
import { KubernetesError } from '../../../../lambdas/kubernetes/errors.ts';
import { controlPlaneMachine, etcdMachine, workerMachine } from '../../../providers/objects.ts';
import { PROVIDERS } from '../../../providers/table.ts';
import { certificatesOf, contextOf, failure, fakeClient, outline, TOLD } from './fake-cluster.ts';
import { NAMESPACE, observeManaged, serving, VERSIONS } from './fake-management.ts';

const CREATED = '2026-03-01T10:00:00Z';
const A_YEAR_LATER = '2027-03-01T10:00:00.000Z';
const EXPIRY = '2027-03-01T10:04:11Z';
const EXPIRY_ANNOTATION = 'machine.cluster.x-k8s.io/certificates-expiry';
const OF = { provider: PROVIDERS['Docker, 0.26'], name: 'berlin' };
const MADE = { 'control-plane': controlPlaneMachine, etcd: etcdMachine, worker: workerMachine };
const PATH = `/namespaces/${NAMESPACE}/machines`;
const PLANES = `/namespaces/${NAMESPACE}/kubeadmcontrolplanes`;

interface Change {
  /** @default worker */
  readonly role?: keyof typeof MADE;
  readonly labels?: object;
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function machine(name: string, { role = 'worker', labels, metadata, spec, status }: Change = {}) {
  const made = MADE[role](OF, { name, address: '10.0.1.31' });
  return {
    ...made,
    metadata: {
      ...made.metadata,
      creationTimestamp: CREATED,
      labels: { ...made.metadata.labels, ...labels },
      ...metadata,
    },
    spec: { ...made.spec, ...spec },
    status: { ...made.status, ...status },
  };
}

const answering = (items: readonly unknown[], version = 'v1beta2', planes?: readonly unknown[] | KubernetesError) => ({
  ...serving(version),
  [`/apis/cluster.x-k8s.io/${version}${PATH}`]: items,
  ...(planes === undefined ? {} : { [`/apis/controlplane.cluster.x-k8s.io/${version}${PLANES}`]: planes }),
});

const planeOf = (certificateValidityPeriodDays: unknown) => ({
  spec: { kubeadmConfigSpec: { clusterConfiguration: { certificateValidityPeriodDays } } },
});

describe.each(VERSIONS)('machines, %s', (version) => {
  it('of stacked etcd: members, what Cluster API remembers, and what follows from their age', async () => {
    const controlPlane = machine('cp-1', { role: 'control-plane', status: { certificatesExpiryDate: EXPIRY } });
    const read = await observeManaged(machines, answering([controlPlane, machine('md-0')], version));
    expect(read.count).toBe(2);
    expect(outline(read)).toEqual([
      'member control-plane Machine eksa-system/cp-1',
      'certificate kube-apiserver @ Machine eksa-system/cp-1 #0',
      'certificate control-plane-clients @ Machine eksa-system/cp-1 #0',
      'certificate etcd-server @ Machine eksa-system/cp-1 #0',
      'certificate etcd-peer @ Machine eksa-system/cp-1 #0',
      'certificate etcd-healthcheck-client @ Machine eksa-system/cp-1 #0',
      'member worker Machine eksa-system/md-0',
    ]);
    expect(read.observations[0]).toEqual({
      kind: 'member',
      source: 'machines',
      ...TOLD,
      role: 'control-plane',
      name: 'Machine eksa-system/cp-1',
      node: 'cp-1',
      createdAt: '2026-03-01T10:00:00.000Z',
      addresses: ['10.0.1.31'],
      externalIp: true,
    });
    const [kubeApiserver, ...inferred] = certificatesOf(read);
    expect(kubeApiserver).toEqual({
      kind: 'certificate',
      source: 'machines',
      ...TOLD,
      what: 'kube-apiserver',
      where: 'Machine eksa-system/cp-1',
      member: 'cp-1',
      basis: 'annotation',
      notAfter: '2027-03-01T10:04:11.000Z',
      renewedBy: 'a rollout of the control plane machines',
    });
    expect(new Set(inferred.map(({ basis, notAfter }) => `${basis} ${notAfter}`))).toEqual(
      new Set([`inference ${A_YEAR_LATER}`]),
    );
    expect(read.client.calls[1]?.query).toMatchObject({ labelSelector: 'cluster.x-k8s.io/cluster-name=berlin' });
  });

  it('without a date infers by age, as long as the control plane says', async () => {
    const read = await observeManaged(
      machines,
      answering([machine('cp-1', { role: 'control-plane' })], version, [planeOf(90)]),
    );
    const certificates = certificatesOf(read);
    expect(certificates.map(({ what }) => what)).toEqual([
      'kube-apiserver',
      'control-plane-clients',
      'etcd-server',
      'etcd-peer',
      'etcd-healthcheck-client',
    ]);
    for (const certificate of certificates)
      expect(certificate).toMatchObject({
        basis: 'inference',
        notAfter: '2026-05-30T10:00:00.000Z',
        precisionMs: 86_400_000,
        member: 'cp-1',
      });
    expect(read.client.calls).toHaveLength(4);
  });

  it('of external etcd: the machines of etcd live a year, and so does the client certificate, at least', async () => {
    const older = machine('etcd-1', { role: 'etcd', metadata: { creationTimestamp: '2026-02-01T10:00:00Z' } });
    const controlPlane = machine('cp-1', { role: 'control-plane', status: { certificatesExpiryDate: EXPIRY } });
    const read = await observeManaged(
      machines,
      answering([machine('etcd-2', { role: 'etcd' }), controlPlane, older], version, [planeOf(364)]),
    );
    expect(certificatesOf(read).map(({ what, where, notAfter, basis }) => [what, where, notAfter, basis])).toEqual([
      ['etcd-server', 'Machine eksa-system/etcd-2', A_YEAR_LATER, 'inference'],
      ['etcd-peer', 'Machine eksa-system/etcd-2', A_YEAR_LATER, 'inference'],
      ['kube-apiserver', 'Machine eksa-system/cp-1', '2027-03-01T10:04:11.000Z', 'annotation'],
      ['control-plane-clients', 'Machine eksa-system/cp-1', '2027-02-28T10:00:00.000Z', 'inference'],
      ['etcd-server', 'Machine eksa-system/etcd-1', '2027-02-01T10:00:00.000Z', 'inference'],
      ['etcd-peer', 'Machine eksa-system/etcd-1', '2027-02-01T10:00:00.000Z', 'inference'],
      [
        'apiserver-etcd-client',
        'Secret eksa-system/berlin-apiserver-etcd-client tls.crt',
        '2027-02-01T10:00:00.000Z',
        'inference',
      ],
    ]);
  });
});

test.each([
  ['none, and never one', undefined],
  ['one with a period that is none', [planeOf('90')]],
  ['one with 0', [planeOf(0)]],
] as const)('with a KubeadmControlPlane: %s, a year', async (_, planes) => {
  const read = await observeManaged(
    machines,
    answering([machine('cp-1', { role: 'control-plane' })], 'v1beta2', planes),
  );
  expect(certificatesOf(read)[0]).toMatchObject({ what: 'kube-apiserver', notAfter: A_YEAR_LATER });
});

test.each([
  ['refused', failure('forbidden')],
  ['not served any more', undefined],
])('with a KubeadmControlPlane that is %s nobody knows how long its certificates live', async (_, planes) => {
  const dated = machine('cp-2', { role: 'control-plane', status: { certificatesExpiryDate: EXPIRY } });
  const objects = [machine('cp-1', { role: 'control-plane' }), dated, machine('etcd-1', { role: 'etcd' })];
  const read = await observeManaged(machines, answering(objects, 'v1beta2', planes), {
    remembered: new Set(['kubeadm-control-plane']),
  });
  expect(outline(read)).toEqual([
    'member control-plane Machine eksa-system/cp-1',
    expect.stringMatching(/^unread kube-apiserver @ Machine eksa-system\/cp-1: (forbidden|not-found)$/),
    'member control-plane Machine eksa-system/cp-2',
    'certificate kube-apiserver @ Machine eksa-system/cp-2 #0',
    expect.stringMatching(/^unread control-plane-clients @ Machine eksa-system\/cp-2: (forbidden|not-found)$/),
    'member etcd Machine eksa-system/etcd-1',
    'certificate etcd-server @ Machine eksa-system/etcd-1 #0',
    'certificate etcd-peer @ Machine eksa-system/etcd-1 #0',
    'certificate apiserver-etcd-client @ Secret eksa-system/berlin-apiserver-etcd-client tls.crt #0',
  ]);
});

test('an annotation of the Machine is told beside the status, and both before its age', async () => {
  const metadata = { annotations: { [EXPIRY_ANNOTATION]: '2027-11-01T01:00:00+01:00' } };
  const status = { certificatesExpiryDate: EXPIRY };
  const read = await observeManaged(
    machines,
    answering([machine('cp-1', { role: 'control-plane', metadata, status })]),
  );
  expect(certificatesOf(read).slice(0, 3)).toMatchObject([
    { what: 'kube-apiserver', where: 'Machine eksa-system/cp-1 annotation', notAfter: '2027-11-01T00:00:00.000Z' },
    { what: 'kube-apiserver', where: 'Machine eksa-system/cp-1', notAfter: '2027-03-01T10:04:11.000Z' },
    { what: 'control-plane-clients', notAfter: A_YEAR_LATER },
  ]);
});

test('an annotation of an etcd Machine is of all its certificates, unless none issued now could live so long', async () => {
  const annotated = (at: string) =>
    machine('etcd-1', { role: 'etcd', metadata: { annotations: { [EXPIRY_ANNOTATION]: at } } });
  const ends = async (at: string) =>
    certificatesOf(await observeManaged(machines, answering([annotated(at)])))
      .filter(({ member }) => member !== undefined)
      .map(({ what, basis }) => `${what} ${basis}`);
  // A year from now, and two days.
  expect(await ends('2027-11-23T12:00:00Z')).toEqual(['etcd-server annotation', 'etcd-peer annotation']);
  expect(await ends('2099-01-01T00:00:00Z')).toEqual([
    'etcd-server annotation',
    'etcd-peer annotation',
    'etcd-server inference',
    'etcd-peer inference',
  ]);
});

test('an annotation that the status copied is told once', async () => {
  const metadata = { annotations: { [EXPIRY_ANNOTATION]: EXPIRY } };
  const status = { certificatesExpiryDate: EXPIRY };
  const read = await observeManaged(
    machines,
    answering([machine('cp-1', { role: 'control-plane', metadata, status })]),
  );
  expect(certificatesOf(read).filter(({ what }) => what === 'kube-apiserver')).toHaveLength(1);
});

test.each([
  '',
  'tomorrow',
  '2027-03-01',
  '2027-13-01T00:00:00Z',
  '1969-12-31T23:59:59Z',
  '\u001b[2J'.repeat(10_000),
  12,
  {},
  true,
])('%j is no end of a certificate', async (certificatesExpiryDate) => {
  const object = machine('cp-1', { role: 'control-plane', status: { certificatesExpiryDate } });
  const read = await observeManaged(machines, answering([object]));
  expect(outline(read).slice(0, 3)).toEqual([
    'member control-plane Machine eksa-system/cp-1',
    'unread kube-apiserver @ Machine eksa-system/cp-1: malformed',
    'certificate kube-apiserver @ Machine eksa-system/cp-1 #0',
  ]);
  // Its age still says something.
  expect(certificatesOf(read)[0]).toMatchObject({ basis: 'inference', notAfter: A_YEAR_LATER });
});

test.each([
  ['being deleted', { metadata: { deletionTimestamp: '2026-11-21T11:59:00Z' } }],
  ['of another cluster by its spec', { spec: { clusterName: 'dublin' } }],
  ['of another cluster by its label', { labels: { 'cluster.x-k8s.io/cluster-name': 'dublin' } }],
])('a Machine %s is no member', async (_, change) => {
  expect(await observeManaged(machines, answering([machine('cp-1', change)]))).toMatchObject({
    observations: [],
    count: 1,
    // How long certificates live is only asked for a control plane.
    client: { calls: [{}, {}] },
  });
});

test('an etcd machine on its way out still says that etcd is external', async () => {
  const leaving = machine('etcd-1', { role: 'etcd', metadata: { deletionTimestamp: '2026-11-21T11:59:00Z' } });
  const read = await observeManaged(machines, answering([machine('cp-1', { role: 'control-plane' }), leaving]));
  expect(certificatesOf(read).map(({ what }) => what)).toEqual(['kube-apiserver', 'control-plane-clients']);
});

test('the address of the API endpoint is not one of the machine that has it just now', async () => {
  const addresses = ['10.0.1.100', '10.0.1.31', '10.0.1.31', 'fe80::1%eth0', '2001:DB8:0::1'].map((address) => ({
    type: 'InternalIP',
    address,
  }));
  const read = await observeManaged(machines, answering([machine('cp-1', { status: { addresses } })]), {
    endpoint: '10.0.1.100',
  });
  expect(read.observations[0]).toMatchObject({ addresses: ['10.0.1.31', '2001:db8::1'], externalIp: undefined });
});

test('a Machine without a Node goes by its own name', async () => {
  const status = { nodeRef: null, addresses: null, certificatesExpiryDate: EXPIRY };
  const read = await observeManaged(machines, answering([machine('cp-1', { role: 'control-plane', status })]));
  expect(read.observations[0]).toMatchObject({ addresses: [] });
  expect(read.observations[0]).not.toHaveProperty('node', expect.anything());
  expect(certificatesOf(read)[0]).toMatchObject({ member: 'cp-1' });
});

test.each<[string, unknown]>([
  ['null', null],
  ['text', 'a Machine'],
  ['a list', []],
  ['no metadata', {}],
  ['metadata of the wrong type', { metadata: 'x' }],
  ['a name of the wrong type', { metadata: { name: 1, namespace: {}, creationTimestamp: CREATED } }],
  ['no creationTimestamp', { metadata: { name: 'a', namespace: 'b' } }],
  ['a name full of control characters', { metadata: { name: '\u001b[31m\u202e'.repeat(9_999), namespace: 'b' } }],
])('something strange is unread, and no end of the others: %s', async (_, strange) => {
  const read = await observeManaged(machines, answering([strange, machine('md-0')]));
  expect(outline(read)).toEqual([
    expect.stringMatching(/^unread - @ Machine .*: malformed$/),
    'member worker Machine eksa-system/md-0',
  ]);
});

test('hostile values of a Machine that can be read are bounded', async () => {
  const evil = `x\u001b[2J\u2028${'y'.repeat(100_000)}`;
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    type: 'InternalIP',
    address: `10.1.${index >> 8}.${index & 255}`,
  }));
  const status = { nodeRef: { name: evil }, addresses: [{ type: evil, address: evil }, ...many] };
  const read = await observeManaged(machines, answering([machine('cp-1', { role: 'control-plane', status })]));
  expect(read.observations[0]).toMatchObject({ addresses: expect.toSatisfy((all: string[]) => all.length === 16) });
});

test('10,000 Machines are read, and one more says that it was not to the end', async () => {
  const items = [{}, ...Array.from({ length: 9_999 }, (_, index) => machine(`md-${index}`))];
  const read = await observeManaged(machines, answering(items));
  expect(read.count).toBe(10_000);
  expect(read.observations).toHaveLength(10_000);
  const more = await observeManaged(machines, answering([...items, machine('one-more')]));
  expect(more.observations.at(-1)).toMatchObject({ kind: 'unread', problem: 'too-large' });
  expect(more.observations.at(-1)).not.toHaveProperty('where', expect.anything());
});

test('a list that breaks off keeps what was seen, and does not guess that etcd is stacked', async () => {
  const client = fakeClient(answering([machine('cp-1', { role: 'control-plane' })]));
  const context = contextOf(client);
  const request = async (call: Parameters<typeof client.request>[0]) => {
    if (call.query?.['continue'] !== undefined) throw failure('timeout');
    const answer = await client.request(call);
    return call.path.endsWith('/machines') ? { ...answer, metadata: { continue: 'x' } } : answer;
  };
  const target = { ...context.target, management: { ...client, request }, machinesNamespace: NAMESPACE };
  expect(outline(await machines.observe({ ...context, target }))).toEqual([
    'member control-plane Machine eksa-system/cp-1',
    'certificate kube-apiserver @ Machine eksa-system/cp-1 #0',
    'certificate control-plane-clients @ Machine eksa-system/cp-1 #0',
    'unread - @ (source): timeout',
  ]);
});

test.each(['forbidden', 'not-found', 'unreachable'] as const)(
  'what cannot be read at all is thrown: %s',
  async (kind) => {
    const answers = { ...serving('v1beta2'), [`/apis/cluster.x-k8s.io/v1beta2${PATH}`]: failure(kind) };
    await expect(observeManaged(machines, answers)).rejects.toMatchObject({ name: 'KubernetesError', kind });
  },
);
