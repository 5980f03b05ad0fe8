import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connectAdmin } from '../control-plane/admin.ts';
import { type ApiserverEndpoints, openApiserverEndpoints } from './apiserver-endpoints.ts';
import {
  type ControlPlaneCluster,
  conditionOf,
  createControlPlaneCluster,
  isRolledOut,
  type KubeadmControlPlane,
  nowInSeconds,
} from './control-plane-cluster.ts';
import { clusterApiParts } from './parts.ts';
import { type ClusterApi, startClusterApi } from './stack.ts';

const DAY = 86_400_000;

const parts = await clusterApiParts('rollouts by the real Cluster API');

describe.skipIf(parts.missing)('the real Cluster API', () => {
  let stack: ClusterApi;
  let cluster: ControlPlaneCluster;
  let endpoints: ApiserverEndpoints;

  beforeAll(async () => {
    stack = await startClusterApi(parts, { users: [{ name: 'reader' }] });
    cluster = await createControlPlaneCluster(stack);
    endpoints = await openApiserverEndpoints();
    await endpoints.follow(cluster);
  });
  afterAll(async () => {
    await endpoints?.stop();
    await stack?.stop();
  });

  it('runs where nobody else can reach it', () => {
    const pid = stack.pids['capi-core'];
    expect(readlinkSync(`/proc/${pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'));
    // Two lines are headings.
    const interfaces = readFileSync(`/proc/${pid}/net/dev`, 'utf8').trim().split('\n').slice(2);
    expect(interfaces.map((line) => line.split(':')[0]?.trim())).toEqual(['lo']);
  });

  it('has three machines, each with a node, an address and the end of its certificates', async () => {
    const machines = await cluster.machines();
    expect(machines).toHaveLength(3);
    for (const { metadata, status } of machines) {
      expect(status?.nodeRef?.name).toMatch(/^berlin-/);
      expect(status?.addresses).toEqual([{ type: 'InternalIP', address: endpoints.addressOf(metadata.name) }]);
      expect(Date.parse(status?.certificatesExpiryDate ?? '')).toBeGreaterThan(Date.now() + 364 * DAY);
    }
  });

  it('serves both versions, by its own conversion', async () => {
    const after = '2020-01-01T00:00:00Z';
    await cluster.patchControlPlane({ spec: { rollout: { after } } });
    const old = await stack.admin.get<KubeadmControlPlane>(cluster.controlPlanePath('v1beta1'));
    expect(old).toMatchObject({ spec: { rolloutAfter: after, replicas: 3 }, status: { updatedReplicas: 3 } });
    expect((await cluster.controlPlane()).spec.rollout?.after).toBe(after);
    expect((await cluster.machines('v1beta1')).map(({ metadata }) => metadata.uid)).toEqual(
      (await cluster.machines()).map(({ metadata }) => metadata.uid),
    );
  });

  it('refuses an even number of members, a field that it does not know and an old resourceVersion', async () => {
    await expect(cluster.patchControlPlane({ spec: { replicas: 4 } })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('cannot be an even number when etcd is stacked'),
    });
    await expect(
      cluster.patchControlPlane({ spec: { rollout: { afterwards: 1 } } }, 'fieldValidation=Strict'),
    ).rejects.toMatchObject({ message: expect.stringContaining('unknown field "spec.rollout.afterwards"') });
    await expect(
      cluster.patchControlPlane({ metadata: { resourceVersion: '1' }, spec: { rollout: { after: nowInSeconds() } } }),
    ).rejects.toMatchObject({ status: 409 });
  });

  it('answers a dry run and stores nothing', async () => {
    const before = await cluster.controlPlane();
    const after = nowInSeconds();
    const answer = await cluster.patchControlPlane({ spec: { rollout: { after } } }, 'dryRun=All');
    expect(answer.spec.rollout?.after).toBe(after);
    expect(answer.metadata['generation']).toBe(Number(before.metadata['generation']) + 1);
    const stored = await cluster.controlPlane();
    expect(stored.spec).toEqual(before.spec);
    expect(stored.metadata['generation']).toBe(before.metadata['generation']);
  });

  it('has the definitions of etcdadm and EKS Anywhere', async () => {
    for (const path of [
      'etcdcluster.cluster.x-k8s.io/v1beta1/etcdadmclusters',
      'bootstrap.cluster.x-k8s.io/v1beta1/etcdadmconfigs',
      'anywhere.eks.amazonaws.com/v1alpha1/clusters',
    ])
      expect(await stack.admin.get(`/apis/${path}`)).toMatchObject({ items: [] });
  });

  it('gives a user the rights it is granted and no other', async () => {
    const reader = connectAdmin(stack, stack.tokenFor('reader'));
    try {
      await expect(reader.get(cluster.controlPlanePath())).rejects.toMatchObject({ status: 403 });
      const rule = {
        apiGroups: ['controlplane.cluster.x-k8s.io'],
        resources: ['kubeadmcontrolplanes'],
        verbs: ['get'],
      };
      await stack.grant('reader', [rule], cluster.namespace);
      expect(await reader.get(cluster.controlPlanePath())).toMatchObject({ metadata: { name: cluster.name } });
      await expect(reader.patch(cluster.controlPlanePath(), {})).rejects.toMatchObject({ status: 403 });
    } finally {
      reader.close();
    }
  });

  it('replaces the three machines one by one after a plain merge patch', async () => {
    const old = await cluster.machines();
    const expiry = new Date(Date.now() + 20 * DAY);
    for (const machine of old) {
      await cluster.annotateExpiry(machine, expiry);
      await endpoints.serve(machine.metadata.name, { notBefore: new Date(Date.now() - 345 * DAY), notAfter: expiry });
    }
    const served = await certificateAt(old[0]?.metadata.name ?? '');
    expect(Math.round((Date.parse(served.validTo) - Date.now()) / DAY)).toBe(20);
    const { host, port } = await cluster.endpoint();
    expect(host).toBe('127.0.0.1');
    const door = await stack.reach(port);
    const shared = await certificate('127.0.0.1', door);

    const begun = Date.now();
    await cluster.patchControlPlane({ spec: { rollout: { after: nowInSeconds() } } });
    const counts = new Set<number>();
    await cluster.waitFor(
      'the end of the rollout',
      async () => {
        const [machines, controlPlane] = await Promise.all([cluster.machines(), cluster.controlPlane()]);
        counts.add(machines.length);
        return (
          isRolledOut(controlPlane) &&
          machines.every(({ metadata }) => !old.some((each) => each.metadata.uid === metadata.uid))
        );
      },
      240_000,
    );
    expect([...counts].every((count) => count === 3 || count === 4)).toBe(true);
    expect(counts).toContain(4);
    expect(conditionOf(await cluster.controlPlane(), 'Available')?.status).toBe('True');

    for (const { metadata } of await cluster.machines()) {
      const { validFrom } = await certificateAt(metadata.name);
      expect(Date.parse(validFrom)).toBeGreaterThanOrEqual(begun - 1000);
    }
    // Why the endpoints are played: the backend serves what it served before.
    expect((await certificate('127.0.0.1', door)).fingerprint256).toBe(shared.fingerprint256);
  }, 300_000);

  it('stands still while it is paused', async () => {
    const before = await cluster.machines();
    await cluster.pause(true);
    await cluster.patchControlPlane({ spec: { rollout: { after: nowInSeconds() } } });
    // A rollout that is not held back has begun after one.
    await sleep(3000);
    expect(conditionOf(await cluster.controlPlane(), 'Paused')?.status).toBe('True');
    expect((await cluster.machines()).map(({ metadata }) => metadata.uid)).toEqual(
      before.map(({ metadata }) => metadata.uid),
    );
  });

  const certificateAt = (machine: string) => certificate(endpoints.addressOf(machine), endpoints.port);
});

async function certificate(
  host: string,
  port: number,
): Promise<{ readonly validFrom: string; readonly validTo: string; readonly fingerprint256: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      const shown = socket.getPeerX509Certificate();
      socket.destroy();
      if (shown === undefined) reject(new Error(`${host}:${port} showed no certificate`));
      else resolve(shown);
    });
    socket.once('error', reject);
  });
}
