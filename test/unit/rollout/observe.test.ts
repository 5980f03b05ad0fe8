import { createHash } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import type { JsonObject } from '../../../lambdas/resources/fields.ts';
import { optedInByOwner } from '../../../lambdas/rollout/checks/agreement.ts';
import { NO_HISTORY } from '../../../lambdas/rollout/history.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import type { HandshakeResult } from '../../../lambdas/tls/handshake.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { base64, createPki } from '../audit/sources/certificates.ts';
import {
  DAY,
  healthyExternal,
  healthyRollout,
  NAME,
  NAMESPACE,
  NOW,
  rawCapiCluster,
  rawEksAnywhere,
} from './fixtures.ts';
import { failure, managementCluster } from './management-cluster.ts';
import { certificate, healthyWorld, holdLease, showing, showingEtcd, type World, withEtcd } from './world.ts';

const { signal } = new AbortController();
const { paths } = healthyWorld();
const look = async ({ target }: World, changes: Partial<World['target']> = {}) =>
  observeRollout({ ...target, ...changes }, signal);

/** As the fixtures have it, but for what only the API server knows. */
function asStored(world: World, model: ReturnType<typeof healthyRollout>) {
  const { lease: _lease, ...rest } = model;
  const version = (path: string) => world.management.get(path).metadata['resourceVersion'];
  const at = (served: (typeof rest.machines)[number]['served'], address: string | undefined) => ({
    ...served,
    address,
  });
  return {
    ...rest,
    controlPlane: { ...rest.controlPlane, resourceVersion: version(world.paths.controlPlane) },
    machines: rest.machines.map((machine) => ({
      ...machine,
      served: at(machine.served, machine.addresses[0]),
      kubelet: machine.kubelet && { kind: 'failed' as const, foreign: true as const },
    })),
    ...(rest.etcd === undefined
      ? {}
      : {
          etcd: {
            ...rest.etcd,
            resourceVersion: version(world.paths.etcd),
            machines: rest.etcd.machines.map((machine) => ({
              ...machine,
              served: at(machine.served, machine.addresses[0]),
            })),
          },
        }),
  };
}

describe('a cluster that is well', () => {
  it.each(['v1beta2', 'v1beta1'] as const)('is read from %s', async (version) => {
    const world = healthyWorld(version);
    world.management.put(`${world.paths.healthCheck}-of-milan`, { spec: { clusterName: 'milan-prod' } });
    const observed = await look(world);
    const expected = asStored(world, healthyRollout());
    expect(observed).toMatchObject({ ...expected, controlPlane: { ...expected.controlPlane, apiVersion: version } });
  });

  it('is read with one LIST a kind, after the Lease, and nothing is written', async () => {
    const world = healthyWorld();
    await look(world);
    const asked = world.management.made.map(({ path }) => path);
    expect(asked[0]).toBe(world.paths.lease);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked.join()).not.toContain('etcdadm');
    expect(world.management.calls).toEqual([]);
  });

  it('has its external etcd', async () => {
    const world = healthyWorld();
    withEtcd(world);
    const observed = await look(world);
    const model = healthyExternal();
    const { clientCertificate: _certificate, controllerStartedAt: _started, ...etcd } = model.etcd ?? {};
    expect(observed.unread).toEqual([]);
    expect(observed).toMatchObject(asStored(world, { ...model, etcd: { ...etcd } } as typeof model));
  });
});

it('etcd is read that only the control plane calls external, and none of another cluster', async () => {
  const world = healthyWorld();
  world.management.put(paths.etcd.replace('berlin', 'milan'), {});
  withEtcd(world);
  const labels = { 'cluster.x-k8s.io/etcd-cluster': `${NAME}-etcd` };
  world.management.put(paths.machine('milan-etcd'), { metadata: { labels }, spec: { clusterName: 'milan-prod' } });
  world.management.change(paths.cluster, { spec: { managedExternalEtcdRef: null } });
  world.management.before = ({ query = {} }) => {
    for (const selector of ['fieldSelector', 'labelSelector']) Reflect.deleteProperty(query, selector);
  };
  const { etcd, unread } = await look(world);
  expect(etcd).toMatchObject({ name: `${NAME}-etcd`, machines: [{}, {}, {}] });
  expect(unread).toEqual([]);
});

it('a machine is not healthy while nothing tells of its etcd, but where etcd is elsewhere', async () => {
  const stacked = healthyWorld();
  const external = healthyWorld();
  withEtcd(external);
  const unhealthy = async (world: World) => {
    const path = world.paths.machine('berlin-prod-1');
    const { conditions } = world.management.get(path)['status'] as { conditions: { type: string }[] };
    const others = conditions.filter(({ type }) => !/^Etcd|^Ready$/.test(type));
    world.management.change(path, { status: { conditions: [...others, { type: 'Ready', status: 'False' }] } });
    return (await look(world)).machines[0]?.unhealthy;
  };
  const missing = ['EtcdPodHealthy is Missing', 'EtcdMemberHealthy is Missing'];
  expect(await unhealthy(stacked)).toEqual([...missing, 'Ready is False']);
  expect(await unhealthy(external)).toEqual(['Ready is False']);
  external.management.change(paths.machine(`${NAME}-etcd-1`), { status: { phase: 'Failed', failureReason: 'x' } });
  expect((await look(external)).etcd?.machines[0]?.unhealthy).toEqual(['its phase is Failed', 'it failed: x']);
});

it.each(['name', 'namespace'])('a control plane of another cluster that has no %s is no sibling', async (key) => {
  const world = healthyWorld();
  const { siblings } = await look(world);
  world.management.put(world.paths.sibling.replace('milan-prod', 'nameless'), { metadata: { [key]: undefined } });
  expect((await look(world)).siblings).toEqual(siblings);
});

it('has the tolerated certificate of its own API server, unless a machine shows it', async () => {
  const world = healthyWorld();
  const { client } = world.management;
  const lived = { notBefore: NOW - 765 * DAY, notAfter: NOW - 400 * DAY };
  const tolerating = (sha256: string) => ({ ...client, recovering: { ...lived, sha256, pin: 'authority' } as const });
  const workload = tolerating('ab'.repeat(32));
  expect((await look(world, { workload })).apiServer).toEqual({ url: client.server, ...lived });
  expect((await look(world, { workload, managesItself: true })).apiServer).toBeUndefined();
  expect((await look(world, { workload: tolerating('02'.repeat(32)) })).apiServer).toBeUndefined();
});

it('the Lease is told with its holder and how often it changed hands', async () => {
  const world = healthyWorld();
  holdLease(world, 'eksa-system/milan-prod milan-1', NOW);
  expect((await look(world)).lease).toMatchObject({
    holder: 'eksa-system/milan-prod milan-1',
    renewedAt: NOW,
    transitions: 4,
  });
});

describe('what cannot be read', () => {
  it.each([
    ['clusters', '/cluster.x-k8s.io/v1beta2/clusters'],
    ['kubeadmcontrolplanes', '/kubeadmcontrolplanes'],
    ['the versions of control planes', '/apis/controlplane.cluster.x-k8s.io'],
    ['machines', '/machines'],
    ['machinehealthchecks', '/machinehealthchecks'],
    ['the template', '/vspheremachinetemplates/'],
    ['the Lease', '/leases/'],
    ['EKS Anywhere', '/anywhere.eks.amazonaws.com/v1alpha1/clusters'],
    ['upgrades', '/controlplaneupgrades'],
  ])('is told: %s', async (_, part) => {
    for (const kind of ['forbidden', 'timeout'] satisfies KubernetesErrorKind[]) {
      const world = healthyWorld();
      world.management.before = ({ path }) => {
        if (path.includes(part)) throw failure(kind);
      };
      expect((await look(world)).unread).toMatchObject([{ kind }]);
    }
  });

  it('is no problem where EKS Anywhere is not installed', async () => {
    const world = healthyWorld();
    world.management.before = ({ path }) => {
      if (path.includes('anywhere.eks.amazonaws.com')) throw failure('not-found');
    };
    const observed = await look(world);
    expect(observed.unread).toEqual([]);
    expect(observed.eksAnywhere).toBeUndefined();
  });

  it('is a cluster that appears twice, unless its namespace is named', async () => {
    const world = healthyWorld();
    const { metadata: _, ...other } = rawCapiCluster();
    for (const namespace of ['other', 'another'])
      world.management.put(world.paths.cluster.replace(NAMESPACE, namespace), other);
    expect(await look(world)).toMatchObject({ capiCluster: { namespace: NAMESPACE }, unread: [] });
    world.management.remove(world.paths.cluster);
    expect((await look(world)).unread).toMatchObject([{ kind: 'ambiguous' }]);
    const observed = await look(world, { namespace: 'other' });
    expect(observed.unread).toEqual([]);
    expect(observed.capiCluster?.namespace).toBe('other');
  });

  it('is a second control plane of the cluster', async () => {
    const world = healthyWorld();
    const { metadata, ...rest } = world.management.get(world.paths.controlPlane);
    world.management.change(paths.controlPlane, { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': null } } });
    world.management.put(`${world.paths.controlPlane}-2`, { ...rest, metadata: { labels: metadata['labels'] } });
    const observed = await look(world);
    expect(observed.unread).toMatchObject([{ kind: 'ambiguous' }]);
    expect(observed.controlPlane).toBeUndefined();
  });

  it.each([
    [`Machine ${NAMESPACE}/${NAME}-1`, 'creationTimestamp', paths.machine(`${NAME}-1`)],
    [`Machine ${NAMESPACE}/${NAME}-1`, 'uid', paths.machine(`${NAME}-1`)],
    [`Machine ${NAMESPACE}/`, 'name', paths.machine(`${NAME}-1`)],
    [`Machine ${NAMESPACE} of ${NAME}-etcd`, 'uid', paths.machine(`${NAME}-etcd-1`)],
    [`KubeadmControlPlane ${NAMESPACE}/${NAME}`, 'uid', paths.controlPlane],
    [`EtcdadmCluster ${NAMESPACE}/${NAME}-etcd`, 'uid', paths.etcd],
    ['Lease kube-system/certmarshal-rollout', 'uid', paths.lease],
  ])('is an object without what an API server writes: %s, %s', async (object, key, path) => {
    const world = healthyWorld();
    withEtcd(world);
    holdLease(world, 'eksa-system/milan-prod milan-1', NOW);
    world.management.change(path, { metadata: { [key]: '' } });
    expect((await look(world)).unread).toMatchObject([{ kind: 'malformed', object }]);
  });

  it('is more machines of its control plane than are read', async () => {
    const world = healthyWorld();
    const { metadata, ...rest } = world.management.get(paths.machine(`${NAME}-1`));
    const { labels, creationTimestamp } = metadata;
    const put = (name: string) =>
      world.management.put(paths.machine(name), { ...rest, metadata: { labels, creationTimestamp } });
    for (let index = 4; index <= 32; index += 1) put(`more-${index}`);
    const { machines, unread } = await look(world);
    expect([machines.filter(({ owned }) => owned).length, unread]).toEqual([3, []]);
    put('more-33');
    expect((await look(world)).unread).toMatchObject([{ object: `Machine ${NAMESPACE}/more-33` }]);
  });

  it.each([
    ['the Cluster has', {}, [{ kind: 'missing' }], [{ kind: 'not-found' }]],
    ['the Cluster has not, which is no problem,', { managedExternalEtcdRef: null }, [], []],
  ])('is an EtcdadmCluster that %s and nobody finds', async (_, spec, missing, unserved) => {
    const world = healthyWorld();
    withEtcd(world);
    world.management.change(paths.cluster, { spec });
    world.management.remove(paths.etcd);
    expect(await look(world)).toMatchObject({ etcd: undefined, unread: missing });
    world.management.before = ({ path }) => {
      if (path.endsWith('/etcdadmclusters')) throw failure('not-found');
    };
    expect(await look(world)).toMatchObject({ etcd: undefined, unread: unserved });
  });
});

describe('what others make too much of', () => {
  const tenant = (path: string, count: number, object: (world: World) => JsonObject) => (world: World) => {
    const { metadata: _, ...rest } = object(world);
    const labels = { 'cluster.x-k8s.io/cluster-name': 'flood', 'cluster.x-k8s.io/control-plane': '' };
    const collection = path
      .replace(NAMESPACE, 'tenant-x')
      .replace('/default/', '/tenant-x/')
      .replace(/[^/]+$/, '');
    for (let index = 0; index < count; index += 1)
      world.management.put(`${collection}flood-${index}`, { ...rest, metadata: { labels } });
  };
  const tooLarge = (collection: string) => (world: World) => {
    world.management.before = ({ path }) => {
      if (path.endsWith(`/${collection}`) && !path.includes('/namespaces/')) throw failure('too-large');
    };
  };

  it.each<[string, (world: World) => void]>([
    ['Machines', tenant(paths.machine('x'), 10_001, () => ({ spec: { clusterName: 'flood' } }))],
    ['KubeadmControlPlanes', tenant(paths.controlPlane, 2_001, ({ management }) => management.get(paths.sibling))],
    ['Clusters of EKS Anywhere', tenant(paths.eksAnywhere, 2_001, () => ({}))],
    ['a Machine that is too large', tooLarge('machines')],
    ['a KubeadmControlPlane that is too large', tooLarge('kubeadmcontrolplanes')],
  ])('does not hide our own: %s', async (_, flood) => {
    const world = healthyWorld();
    flood(world);
    for (const path of [paths.eksAnywhere, paths.controlPlane, paths.machine(`${NAME}-3`)]) {
      const own = world.management.get(path);
      world.management.remove(path);
      world.management.put(path, own);
    }
    const observed = await look(world);
    const { siblings: _siblings, ...expected } = asStored(world, healthyRollout());
    expect(observed).toMatchObject({ ...expected, moreSiblings: true, unread: [] });
    expect(observed.machines).toHaveLength(3);
  });

  it('is nothing that is read: upgrades of other namespaces', async () => {
    const world = healthyWorld();
    tenant(paths.upgrade, 2_001, () => ({ spec: { controlPlane: { name: NAME } } }))(world);
    const observed = await look(world);
    expect(observed.unread).toEqual([]);
    expect(observed.eksAnywhere?.controlPlaneUpgrade).toBe(false);
    expect(observed.moreSiblings).toBeUndefined();
  });

  it.each([
    ['Machines', 10_001, paths.machine('flood')],
    ['KubeadmControlPlanes', 2_001, paths.sibling],
  ])('is told where it is in our own namespace: %s', async (_, count, path) => {
    const world = healthyWorld();
    const object = { metadata: { labels: { 'cluster.x-k8s.io/control-plane': '' } } };
    for (let index = 0; index < count; index += 1) world.management.put(`${path}-${index}`, object);
    expect((await look(world)).unread).toMatchObject([{ kind: 'too-large' }]);
  });
});

it('knows no cluster of another name, where the server looks at no selector', async () => {
  const world = healthyWorld();
  world.management.before = ({ query }) => void Reflect.deleteProperty(query ?? {}, 'fieldSelector');
  const observed = await look(world, { name: 'hamburg' });
  expect(observed).toMatchObject({ machines: [], siblings: [], unread: [] });
  expect(observed.capiCluster).toBeUndefined();
});

it('sees an upgrade in place, and a template that is gone', async () => {
  const world = healthyWorld();
  world.management.put(world.paths.upgrade, { spec: { controlPlane: { name: 'berlin-prod' } } });
  world.management.remove(world.paths.template);
  const observed = await look(world);
  expect(observed.eksAnywhere?.controlPlaneUpgrade).toBe(true);
  expect(observed.controlPlane?.templateFound).toBe(false);
  expect(observed.unread).toEqual([]);
});

describe('what machines show', () => {
  it('is not known where nobody shakes hands', async () => {
    const world = healthyWorld();
    const { handshakes: _, ...target } = world.target;
    const observed = await observeRollout(target, signal);
    expect(observed.machines.map(({ served }) => served.kind)).toEqual(['none', 'none', 'none']);
  });

  it('comes from the next address where the first does not answer, at the port of the cluster', async () => {
    const world = healthyWorld();
    world.management.change(world.paths.cluster, { spec: { clusterNetwork: { apiServerPort: 443 } } });
    const machine = (number: number, ...last: readonly number[]) =>
      world.management.change(paths.machine(`${NAME}-${number}`), {
        status: { addresses: last.map((octet) => ({ type: 'InternalIP', address: `10.0.1.${octet}` })) },
      });
    machine(1, 7, 31, 9);
    machine(2, 7, 8, 9, 31);
    machine(3);
    for (const octet of [9, 31]) world.shown.set(`10.0.1.${octet}:443`, showing());
    expect((await look(world)).machines.map(({ served }) => served)).toMatchObject([
      { kind: 'certificate', address: '10.0.1.31' },
      { kind: 'certificate', address: '10.0.1.9' },
      { kind: 'failed', problem: 'the Machine has no address' },
    ]);
    machine(2, 7, 8, 10, 31);
    expect((await look(world)).machines[1]?.served).toMatchObject({ kind: 'failed', address: '10.0.1.7' });
  });

  it('is that of kubelets, which may be their own', async () => {
    const world = healthyWorld();
    world.shown.set('10.0.1.31:10250', showing());
    world.shown.delete('10.0.1.32:10250');
    expect((await look(world)).machines.map(({ kubelet }) => kubelet)).toMatchObject([
      { kind: 'certificate' },
      { kind: 'failed', problem: 'it refuses' },
      { kind: 'failed', foreign: true },
    ]);
    withEtcd(world);
    const asked = vi.spyOn(world.shown, 'get');
    expect((await look(world)).machines.map(({ kubelet }) => kubelet)).toEqual([undefined, undefined, undefined]);
    expect(asked).not.toHaveBeenCalledWith(expect.stringContaining(':10250'));
  });

  it('is that of etcd too, at both of its ports', async () => {
    const world = healthyWorld();
    world.shown.set('10.0.1.31:2379', showingEtcd(2379, 1, { notAfter: NOW + 5 * DAY }));
    world.shown.set('10.0.1.32:2379', showingEtcd(2379, 2, { selfIssued: true }));
    world.shown.delete('10.0.1.33:2380');
    const machines = (await look(world)).machines.map(({ etcdPorts }) => etcdPorts);
    expect(machines).toMatchObject([
      [
        { port: 2379, served: { notAfter: NOW + 5 * DAY } },
        { port: 2380, served: { notAfter: NOW + 40 * DAY } },
      ],
      [{ port: 2379, served: { kind: 'failed', problem: expect.stringContaining('issued it') } }, { port: 2380 }],
      [
        { port: 2379, served: { kind: 'certificate' } },
        { port: 2380, served: { kind: 'failed', problem: 'it refuses' } },
      ],
    ]);
  });

  it('counts only where its key was proven', async () => {
    const world = healthyWorld();
    const { keyProven: _, ...unproven } = showing();
    world.shown.set('10.0.1.31:6443', unproven);
    world.shown.set('10.0.1.32:6443', { ok: true, chain: [{ ok: false, problem: 'no DER' }], keyProven: true });
    world.shown.set('10.0.1.33:6443', { ok: true, chain: [], keyProven: true });
    const problem = 'its certificate cannot be read';
    expect((await look(world)).machines.map(({ served }) => served)).toMatchObject([
      { kind: 'failed' },
      { kind: 'failed', problem: `${problem}: no DER` },
      { kind: 'failed', problem },
    ]);
  });

  it('tells of authorities, and those that were given', async () => {
    const world = healthyWorld();
    const sent = certificate({
      isAuthority: true,
      subject: 'CN=sent',
      fingerprint: 'cd'.repeat(32),
      notAfter: NOW + DAY,
    });
    const leaf = showing();
    const others = [sent, certificate({ fingerprint: 'ef'.repeat(32) })];
    const chain = [...leaf.chain, ...others.map((one) => ({ ok: true as const, certificate: one }))];
    world.shown.set('10.0.1.31:6443', { ...leaf, chain });
    const unknown = await look(world);
    expect(unknown.authorities).toHaveLength(2);
    expect(unknown.authorities).toContainEqual({ name: 'CN=sent', notAfter: NOW + DAY });
    const { ca } = await createPki();
    const observed = await look(world, { authorities: async () => ca.certificate });
    expect(observed.authorities).toMatchObject([{ name: 'CN=kubernetes' }]);
    expect(observed.machines[0]?.etcdPorts[0]?.served.kind).toBe('certificate');
    const unreadable = ca.certificate.replaceAll(/(?<=\n)[^-].*\n/g, '').replace('\n', '\nMAA=\n');
    for (const pem of ['nothing', `${ca.certificate}\n${unreadable}`]) {
      const damaged = await look(world, { authorities: async () => pem });
      expect(damaged.unread).toMatchObject([{ kind: 'malformed' }]);
    }
  });
});

it('what new machines need is read from the Cluster of EKS Anywhere and what it names, and vCenter is asked', async () => {
  const world = healthyWorld();
  const { ca } = await createPki();
  const [own] = decodeBundle(ca.certificate).certificates;
  const der = own?.ok === true ? own.certificate.der : Buffer.alloc(0);
  const thumbprint = createHash('sha1')
    .update(der)
    .digest('hex')
    .toUpperCase()
    .replaceAll(/..(?=.)/g, '$&:');
  const datacenter = world.paths.eksAnywhere.replace('/clusters/', '/vspheredatacenterconfigs/');
  const vcenter = (pin: string) => ({ spec: { server: 'vcenter.example', thumbprint: pin, insecure: false } });
  world.management.change(world.paths.eksAnywhere, {
    spec: { registryMirrorConfiguration: { caCertContent: ca.certificate } },
  });
  world.management.put(datacenter, vcenter(thumbprint));
  const mirror = { where: `Cluster default/${NAME} spec.registryMirrorConfiguration.caCertContent` };
  const found = async () => (await look(world)).dependencies;
  expect(await found()).toMatchObject([mirror]);
  world.shown.set('vcenter.example:443', showing({ der, notAfter: NOW + DAY }));
  expect(await found()).toMatchObject([
    { ...mirror, problem: undefined },
    { notAfter: NOW + DAY, problem: undefined },
  ]);
  world.management.put(datacenter, vcenter('AA:BB'));
  expect(await found()).toMatchObject([mirror, { problem: expect.stringContaining('spec.thumbprint, AA:BB') }]);
  const { handshakes: _, ...unreached } = world.target;
  expect((await observeRollout(unreached, signal)).dependencies).toMatchObject([mirror]);
});

describe('the CSRs of kubelets', () => {
  const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const csr = (node: string, minutesAgo: number, status: JsonObject = {}): JsonObject => ({
    metadata: { uid: 'u', creationTimestamp: new Date(NOW - minutesAgo * 60_000).toISOString() },
    spec: {
      username: `system:node:${node}`,
      signerName: 'kubernetes.io/kubelet-serving',
      groups: ['system:nodes'],
      usages: ['server auth'],
      request: '',
    },
    status,
  });
  const approved = { conditions: [{ type: 'Approved', status: 'True' }] };

  it('are read while Cluster API does not reach etcd, and no one has decided on them', async () => {
    const world = healthyWorld();
    const workload = managementCluster({ 'certificates.k8s.io': ['v1'] });
    workload.put(`${CSRS}/csr-2`, csr('berlin-prod-1', 12));
    workload.put(`${CSRS}/csr-4`, csr('berlin-prod-2', 20, approved));
    workload.put(`${CSRS}/csr-5`, csr('a-worker', 12));
    const healthy = await look(world, { workload: workload.client });
    expect(healthy.waitingRequests).toBeUndefined();
    expect(workload.made).toEqual([]);
    world.management.change(world.paths.controlPlane, {
      status: { conditions: [{ type: 'EtcdClusterHealthy', status: 'Unknown' }] },
    });
    const { waitingRequests } = await look(world, { workload: workload.client });
    expect(waitingRequests).toEqual([{ node: 'berlin-prod-1', name: 'csr-2', createdAt: NOW - 12 * 60_000 }]);
    expect((await look(world)).waitingRequests).toBeUndefined();
  });
});

describe('whose certificate machines show', () => {
  const kinds = (machines: readonly { readonly served: { readonly kind: string } }[]) =>
    machines.map(({ served }) => served.kind);
  /** What somebody answers with. */
  const shownBy = async (pem: string): Promise<HandshakeResult> => {
    const [first] = decodeBundle(pem).certificates;
    if (first?.ok !== true) throw new Error('the test makes certificates');
    return { ok: true, chain: [first], keyProven: true };
  };
  const everywhere = (world: World, shown: HandshakeResult) => {
    for (const place of world.shown.keys()) world.shown.set(place, shown);
  };

  it('is that of an authority of the cluster', async () => {
    const world = healthyWorld();
    const [own, other] = [await createPki(), await createPki()];
    everywhere(world, await shownBy(await own.leaf('kube-apiserver')));
    // Of the same name, and another key.
    world.shown.set('10.0.1.32:6443', await shownBy(await other.leaf('kube-apiserver')));
    const { machines } = await look(world, { authorities: async () => own.ca.certificate });
    expect(kinds(machines)).toEqual(['certificate', 'failed', 'certificate']);
    expect(machines[1]?.served).toMatchObject({
      address: '10.0.1.32',
      problem: expect.stringContaining('not issued by a CA of the cluster'),
    });
    // While the authority is replaced there are two.
    const both = `${own.ca.certificate}\n${other.ca.certificate}`;
    const replaced = await look(world, { authorities: async () => both });
    expect(kinds(replaced.machines)).toEqual(['certificate', 'certificate', 'certificate']);
  });

  it('is nobody’s where the authorities cannot be read', async () => {
    const world = healthyWorld();
    const authorities = async () => {
      throw failure('timeout');
    };
    await expect(look(world, { authorities: () => Promise.reject(new TypeError('a bug')) })).rejects.toThrow('a bug');
    const { machines, unread } = await look(world, { authorities });
    const problem = expect.stringContaining('no CA of the cluster could be read');
    const none = { served: { kind: 'failed', problem, foreign: undefined } };
    expect(machines).toMatchObject([none, none, none]);
    expect(unread).toHaveLength(1);
  });

  it('is one that all agree on where nobody knows the authority, and none that signed itself', async () => {
    const world = healthyWorld();
    expect(kinds((await look(world)).machines)).toEqual(['certificate', 'certificate', 'certificate']);
    world.shown.set('10.0.1.32:6443', showing({ authorityKeyId: 'another' }));
    const differing = await look(world);
    expect(kinds(differing.machines)).toEqual(['failed', 'failed', 'failed']);
    expect(differing.authorities).toEqual([]);
    everywhere(world, showing({ selfIssued: true }));
    expect(kinds((await look(world)).machines)).toEqual(['failed', 'failed', 'failed']);
  });

  it('is for etcd that of its own authority, where its certificate may be read', async () => {
    const world = healthyWorld();
    withEtcd(world);
    const [own, other] = [await createPki(), await createPki()];
    for (const number of [1, 2, 3])
      world.shown.set(`10.0.1.${50 + number}:2379`, await shownBy(await own.leaf(`etcd-${number}`)));
    const data = { 'tls.crt': base64(await own.leaf('client')), 'tls.key': base64(own.keyPem) };
    world.management.put(world.paths.etcdSecret, { data });
    const secret = world.paths.etcdSecret.replace('apiserver-etcd-client', 'etcd');
    const etcdOf = async (readEtcdClientSecret: boolean) =>
      kinds((await look(world, { readEtcdClientSecret })).etcd?.machines ?? []);
    expect(await etcdOf(true)).toEqual(['certificate', 'certificate', 'certificate']);
    world.management.put(secret, { data: { 'tls.crt': base64(other.ca.certificate) } });
    expect(await etcdOf(true)).toEqual(['failed', 'failed', 'failed']);
    expect(await etcdOf(false)).toEqual(['certificate', 'certificate', 'certificate']);
    world.management.put(secret, { data: { 'tls.crt': base64(own.ca.certificate) } });
    expect((await look(world, { readEtcdClientSecret: true })).unread).toEqual([]);
    world.shown.set('10.0.1.52:2379', await shownBy(await other.leaf('etcd-2')));
    expect(await etcdOf(true)).toEqual(['certificate', 'failed', 'certificate']);
    expect(await etcdOf(false)).toEqual(['failed', 'failed', 'failed']);
    const { etcd } = await look(world, { readEtcdClientSecret: true });
    expect(etcd?.machines.map(({ etcdPorts: [peer] }) => peer?.served.kind)).toEqual(['failed', 'failed', 'failed']);
    world.management.put(secret, { data: { 'tls.crt': base64('nothing') } });
    expect((await look(world, { readEtcdClientSecret: true })).unread).toMatchObject([
      { kind: 'malformed', object: `the certificate in Secret ${NAMESPACE}/${NAME}-etcd` },
    ]);
  });
});

describe('the Cluster of EKS Anywhere', () => {
  const tenants = `/apis/anywhere.eks.amazonaws.com/v1alpha1/namespaces/tenant-x/clusters/${NAME}`;
  const raw = rawEksAnywhere();
  const LATER = '2026-11-01T00:00:00Z';
  const made = (mode: string | undefined, namespace = 'default', creationTimestamp = '2024-09-01T00:00:00Z') => {
    const annotations = mode === undefined ? {} : { 'certmarshal.dev/rollout-mode': mode };
    return { ...raw, metadata: { namespace, name: NAME, generation: 7, creationTimestamp, annotations } };
  };
  const worldOf = (...clusters: readonly ReturnType<typeof made>[]): World => {
    const world = healthyWorld();
    world.management.remove(world.paths.eksAnywhere);
    for (const cluster of clusters)
      world.management.put(world.paths.eksAnywhere.replace('/default/', `/${cluster.metadata.namespace}/`), cluster);
    return world;
  };
  const verdictOf = async (world: World, changes: Partial<World['target']> = {}) => {
    const observed = await look(world, changes);
    const verdict = optedInByOwner({ observed, policy: undefined, history: NO_HISTORY, trigger: 'schedule', now: NOW });
    return { observed, verdict };
  };
  const saysOnControlPlane = ({ management }: World, mode: string) =>
    management.change(paths.controlPlane, { metadata: { annotations: { 'certmarshal.dev/rollout-mode': mode } } });

  it('counts where fleet.yaml names its namespace, whatever another one of the name says', async () => {
    for (const [mode, others] of [
      ['auto', 'off'],
      ['off', 'auto'],
    ] as const) {
      const world = worldOf(made(mode, 'default', LATER), made(others, 'tenant-x'));
      const { observed, verdict } = await verdictOf(world, { eksAnywhereNamespace: 'default' });
      expect([observed.eksAnywhere?.namespace, observed.unread, verdict.passed]).toEqual([
        'default',
        [],
        mode === 'auto',
      ]);
    }
  });

  it('leaves the word to the control plane while two have the name', async () => {
    const world = worldOf(made('auto'), made('off', 'tenant-x', LATER));
    saysOnControlPlane(world, 'auto');
    expect((await verdictOf(world)).verdict.passed).toBe(true);
    const { remedy } = (await verdictOf(worldOf(made('auto'), made('auto', 'tenant-x', LATER)))).verdict;
    expect(remedy).toContain('eksAnywhereNamespace');
    expect(remedy).toContain('annotate kubeadmcontrolplanes.controlplane.cluster.x-k8s.io');
    expect(remedy).not.toContain('clusters.anywhere');
  });

  it('still forbids, and has to be settled, when a stranger makes another one of its name', async () => {
    for (const at of [LATER, '2024-09-01T00:00:00Z']) {
      const world = worldOf(made('off'), made('auto', 'a-tenant', at));
      saysOnControlPlane(world, 'auto');
      expect((await verdictOf(world)).verdict.passed).toBe(false);
    }
    const paused = worldOf(made('auto'), made('auto', 'a-tenant', LATER));
    paused.management.change(paused.paths.eksAnywhere, {
      metadata: { annotations: { 'anywhere.eks.amazonaws.com/paused': 'true' } },
    });
    expect((await look(paused)).eksAnywhere).toMatchObject({ namespace: 'default', paused: true });
  });

  it('is not read from a label', async () => {
    const world = worldOf(made('off'), made('auto', 'tenant-x', LATER));
    const labels = PROVIDERS['Snow, 0.26'].clusterLabels.value({ name: NAME, namespace: 'tenant-x' });
    world.management.change(world.paths.cluster, { metadata: { labels } });
    expect((await look(world)).eksAnywhere).toMatchObject({ namespace: 'default', mode: 'off' });
  });

  it('is a problem where fleet.yaml names a namespace that has none', async () => {
    const world = worldOf(made('off'));
    const { observed } = await verdictOf(world, { eksAnywhereNamespace: 'platform' });
    expect(observed.eksAnywhere).toBeUndefined();
    expect(observed.unread).toEqual([
      {
        kind: 'missing',
        object: `Cluster platform/${NAME} of EKS Anywhere`,
        message: 'fleet.yaml names this namespace, and no such Cluster is in it',
        remedy: expect.stringContaining('eksAnywhereNamespace'),
      },
    ]);
    world.management.before = ({ path }) => {
      if (path.includes('anywhere.eks.amazonaws.com')) throw failure('not-found');
    };
    const { unread } = await look(world, { eksAnywhereNamespace: 'platform' });
    expect(unread.map(({ kind }) => kind)).toContain('not-found');
    expect(unread.map(({ kind }) => kind)).not.toContain('missing');
  });

  it('is not that of a Cluster in another namespace than its own', async () => {
    const world = worldOf(made('auto'));
    world.management.remove(world.paths.cluster);
    world.management.put(world.paths.cluster.replace(NAMESPACE, 'plain-capi'), { ...rawCapiCluster(), metadata: {} });
    expect((await look(world)).eksAnywhere).toBeUndefined();
  });

  it('of another cluster counts as opted in while only one has its name', async () => {
    const world = healthyWorld();
    const optedIn = async () => (await look(world)).siblings.map((sibling) => sibling.optedIn);
    expect(await optedIn()).toEqual([true]);
    world.management.put(tenants.replace(NAME, 'milan-prod'), {});
    expect(await optedIn()).toEqual([false]);
    world.management.remove(tenants.replace(NAME, 'milan-prod'));
    world.management.put(paths.siblingEksAnywhere, {});
    expect(await optedIn()).toEqual([false]);
  });
});

describe('the client certificate and the controller of etcd', () => {
  it('are read where that is allowed, and of the Secret only two times are kept', async () => {
    const world = healthyWorld();
    withEtcd(world);
    const unreadKinds = async () => (await look(world, { readEtcdClientSecret: true })).unread.map(({ kind }) => kind);
    expect(await unreadKinds()).toEqual(['not-found']);
    world.management.put(world.paths.etcdSecret, { data: { 'tls.crt': base64('nothing') } });
    expect(await unreadKinds()).toEqual(['malformed']);
    const pki = await createPki();
    const data = {
      'tls.crt': base64(await pki.leaf('berlin-prod-kube-apiserver-etcd-client')),
      'tls.key': base64(pki.keyPem),
    };
    world.management.put(world.paths.etcdSecret, { data });
    const running = (startedAt: string) => ({
      status: {
        startTime: '2026-01-01T00:00:00Z',
        containerStatuses: [
          { name: 'kube-rbac-proxy', state: { running: { startedAt: '2026-01-01T00:00:00Z' } } },
          { name: 'manager', state: { running: { startedAt } } },
        ],
      },
    });
    world.management.put(paths.pod('none'), { status: {} });
    world.management.put(world.paths.pod('one'), running('2026-11-20T00:00:00Z'));
    world.management.put(world.paths.pod('two'), running('2026-11-10T00:00:00Z'));
    const { etcd, unread } = await look(world, { readEtcdClientSecret: true });
    expect(unread).toEqual([]);
    expect(Object.keys(etcd?.clientCertificate ?? {})).toEqual(['notBefore', 'notAfter']);
    expect(etcd?.controllerStartedAt).toBe(Date.parse('2026-11-10T00:00:00Z'));
  });

  it('are left where that is not', async () => {
    const world = healthyWorld();
    withEtcd(world);
    world.management.before = ({ path }) => {
      if (path.endsWith('/pods')) throw failure('forbidden');
      if (path.includes('/secrets/')) throw new Error('nobody asked for a Secret');
    };
    const { etcd, unread } = await look(world);
    expect(unread).toEqual([]);
    expect(etcd?.clientCertificate).toBeUndefined();
    expect(etcd?.controllerStartedAt).toBeUndefined();
  });
});
