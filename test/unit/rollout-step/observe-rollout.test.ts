import { describe, expect, it } from 'vitest';
import type { KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import { observeRollout } from '../../../lambdas/rollout-step/observe-rollout.ts';
import { base64, createPki } from '../audit/sources/certificates.ts';
import { DAY, healthyExternal, healthyRollout, NAMESPACE, NOW, rawCapiCluster } from '../rollout/fixtures.ts';
import { failure } from './management-cluster.ts';
import { certificate, healthyWorld, holdLease, showing, type World, withEtcd } from './world.ts';

const { signal } = new AbortController();
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
    machines: rest.machines.map((machine) => ({ ...machine, served: at(machine.served, machine.addresses[0]) })),
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
    const observed = await look(world);
    const expected = asStored(world, healthyRollout());
    expect(observed).toMatchObject({ ...expected, controlPlane: { ...expected.controlPlane, apiVersion: version } });
  });

  it('is read with one LIST a kind, after the Lease, and nothing is written', async () => {
    const world = healthyWorld();
    await look(world);
    const paths = world.management.made.map(({ path }) => path);
    expect(paths[0]).toBe(world.paths.lease);
    expect(new Set(paths).size).toBe(paths.length);
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

describe('the Lease', () => {
  it('is told with its holder and how often it changed hands', async () => {
    const world = healthyWorld();
    holdLease(world, 'eksa-system/milan-prod milan-1', NOW);
    expect((await look(world)).lease).toMatchObject({
      holder: 'eksa-system/milan-prod milan-1',
      renewedAt: NOW,
      transitions: 4,
    });
  });
});

describe('what cannot be read', () => {
  it.each([
    ['clusters', '/cluster.x-k8s.io/v1beta2/clusters'],
    ['kubeadmcontrolplanes', '/kubeadmcontrolplanes'],
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

  it('is a cluster that is there twice, unless its namespace is named', async () => {
    const world = healthyWorld();
    const elsewhere = world.paths.cluster.replace(NAMESPACE, 'other');
    const { metadata: _, ...other } = rawCapiCluster();
    world.management.put(elsewhere, other);
    expect((await look(world)).unread).toMatchObject([{ kind: 'ambiguous' }]);
    const observed = await look(world, { namespace: NAMESPACE });
    expect(observed.unread).toEqual([]);
    expect(observed.controlPlane).toBeDefined();
  });

  it('is a second control plane of the cluster', async () => {
    const world = healthyWorld();
    const { metadata, ...rest } = world.management.get(world.paths.controlPlane);
    world.management.put(`${world.paths.controlPlane}-2`, { ...rest, metadata: { labels: metadata['labels'] } });
    const observed = await look(world);
    expect(observed.unread).toMatchObject([{ kind: 'ambiguous' }]);
    expect(observed.controlPlane).toBeUndefined();
  });

  it('is a machine without a time of creation', async () => {
    const world = healthyWorld();
    world.management.change(world.paths.machine('berlin-prod-1'), { metadata: { creationTimestamp: null } });
    const observed = await look(world);
    expect(observed.machines).toHaveLength(2);
    expect(observed.unread).toMatchObject([{ kind: 'malformed', object: `Machine ${NAMESPACE}/berlin-prod-1` }]);
  });

  it('is an EtcdadmCluster that the Cluster has and nobody finds', async () => {
    const world = healthyWorld();
    withEtcd(world);
    world.management.remove(world.paths.etcd);
    const observed = await look(world);
    expect(observed.etcd).toBeUndefined();
    expect(observed.unread).toMatchObject([{ kind: 'missing' }]);
  });
});

it('knows no cluster of another name', async () => {
  const observed = await look(healthyWorld(), { name: 'hamburg' });
  expect(observed).toMatchObject({ machines: [], siblings: [], unread: [] });
  expect(observed.capiCluster).toBeUndefined();
});

it('sees an upgrade in place, and a template that is gone', async () => {
  const world = healthyWorld();
  world.management.put(world.paths.upgrade, { spec: { controlPlane: { name: 'berlin-prod' } } });
  world.management.remove(world.paths.template);
  const observed = await look(world);
  expect(observed.eksAnywhere?.controlPlaneUpgrade).toBe(true);
  expect(observed.controlPlane?.template?.found).toBe(false);
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
    world.management.change(world.paths.machine('berlin-prod-1'), {
      status: {
        addresses: [
          { type: 'InternalIP', address: '10.9.9.9' },
          { type: 'ExternalIP', address: '10.0.1.31' },
        ],
      },
    });
    world.shown.set('10.0.1.31:443', showing());
    const [first, second] = (await look(world)).machines;
    expect(first?.served).toMatchObject({ kind: 'certificate', address: '10.0.1.31' });
    expect(second?.served).toMatchObject({ kind: 'failed', address: '10.0.1.32' });
  });

  it('counts only where its key was proven', async () => {
    const world = healthyWorld();
    const { keyProven: _, ...unproven } = showing();
    world.shown.set('10.0.1.31:6443', unproven);
    world.shown.set('10.0.1.32:6443', { ok: true, chain: [{ ok: false, problem: 'no DER' }], keyProven: true });
    const [first, second] = (await look(world)).machines;
    expect(first?.served.kind).toBe('failed');
    expect(second?.served.kind).toBe('failed');
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
    world.shown.set('10.0.1.31:6443', { ...leaf, chain: [...leaf.chain, { ok: true, certificate: sent }] });
    const { ca } = await createPki();
    const observed = await look(world, { authorities: async () => ca.certificate });
    expect(observed.authorities).toHaveLength(3);
    expect(observed.authorities).toContainEqual({ name: 'CN=sent', notAfter: NOW + DAY });
    const damaged = await look(world, { authorities: async () => 'nothing' });
    expect(damaged.unread).toMatchObject([{ kind: 'malformed' }]);
  });
});

describe('the client certificate and the controller of etcd', () => {
  it('are read where that is allowed, and of the Secret only two times are kept', async () => {
    const world = healthyWorld();
    withEtcd(world);
    const pki = await createPki();
    const data = {
      'tls.crt': base64(await pki.leaf('berlin-prod-kube-apiserver-etcd-client')),
      'tls.key': base64(pki.keyPem),
    };
    world.management.put(world.paths.etcdSecret, { data });
    const running = (startedAt: string) => ({
      status: {
        phase: 'Running',
        startTime: '2026-01-01T00:00:00Z',
        containerStatuses: [{ name: 'manager', state: { running: { startedAt } } }],
      },
    });
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
