import { describe, expect, test } from 'vitest';
import { etcdSelector } from '../../../lambdas/kubernetes/cluster-api.ts';
import type { KubernetesErrorKind } from '../../../lambdas/kubernetes/errors.ts';
import { hasInfrastructureTemplate } from '../../../lambdas/kubernetes/infrastructure-templates.ts';
import { createLease, getLease, microTime, patchLease } from '../../../lambdas/kubernetes/leases.ts';
import { listKind } from '../../../lambdas/kubernetes/list.ts';
import { patchEtcdadmCluster, patchKubeadmControlPlane } from '../../../lambdas/kubernetes/merge-patch.ts';
import { CONTROL_PLANE_LABEL } from '../../../lambdas/resources/machine.ts';
import { answer, serve } from './tls-server.ts';

const { signal } = new AbortController();
const namespace = 'eksa-system';

const status = (code: number) => ({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code });

const CAPI = '/apis/cluster.x-k8s.io/v1beta1';
const EKS_ANYWHERE = '/apis/anywhere.eks.amazonaws.com/v1alpha1';
const BERLIN_ONLY = 'fieldSelector=metadata.name%3Dberlin';
const OF_CONTROL_PLANE = 'labelSelector=cluster.x-k8s.io%2Fcontrol-plane';
const OF_ETCD = 'labelSelector=cluster.x-k8s.io%2Fetcd-cluster%3Dberlin-etcd';
type Options = Omit<Parameters<typeof listKind>[2], 'signal'>;

test.each<[kind: Parameters<typeof listKind>[1], options: Options, url: string]>([
  ['clusters', { clusterName: 'berlin' }, `${CAPI}/clusters?${BERLIN_ONLY}&`],
  ['clusters', { clusterName: 'berlin', namespace }, `${CAPI}/namespaces/eksa-system/clusters?${BERLIN_ONLY}&`],
  ['machinehealthchecks', { namespace }, `${CAPI}/namespaces/eksa-system/machinehealthchecks?`],
  ['machines', { labels: CONTROL_PLANE_LABEL }, `${CAPI}/machines?${OF_CONTROL_PLANE}&`],
  [
    'machines',
    { labels: etcdSelector('berlin-etcd', 'x'), namespace },
    `${CAPI}/namespaces/eksa-system/machines?${OF_ETCD}&`,
  ],
  ['kubeadmcontrolplanes', {}, '/apis/controlplane.cluster.x-k8s.io/v1beta1/kubeadmcontrolplanes?'],
  ['eksAnywhereClusters', {}, `${EKS_ANYWHERE}/clusters?`],
  ['controlplaneupgrades', { namespace }, `${EKS_ANYWHERE}/namespaces/eksa-system/controlplaneupgrades?`],
  ['pods', { namespace }, '/api/v1/namespaces/eksa-system/pods?'],
])('%s are listed: %j', async (kind, options, url) => {
  const { server, client } = await serve((__, response) =>
    answer(response, 200, { versions: [{ version: 'v1beta1' }], items: [{ a: 1 }], metadata: {} }),
  );
  const items: unknown[] = [];
  for await (const page of listKind(client, kind, { ...options, signal })) items.push(...page);
  expect(items).toEqual([{ a: 1 }]);
  expect(server.received.at(-1)?.url).toBe(`${url}limit=500`);
});

test.each<[kind: Parameters<typeof listKind>[1], options: Options]>([
  ['clusters', { clusterName: 'a,b=c' }],
  ['pods', { namespace: '../secrets' }],
  ['kubeadmcontrolplanes', { clusterName: 'a,b', namespace }],
])('nothing is asked for what %s cannot be called: %j', async (kind, options) => {
  const { server, client } = await serve((__, response) => answer(response, 200, { items: [] }));
  const list = listKind(client, kind, { ...options, signal });
  await expect(list[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'invalid' });
  expect(server.received).toEqual([]);
});

describe('a merge patch', () => {
  const body = { metadata: { uid: 'u', resourceVersion: '1' }, spec: { rollout: { after: null } } };
  const patch = { namespace, name: 'berlin', body, fieldManager: 'certmarshal-rollout', signal } as const;

  test.each([
    [true, 'fieldManager=certmarshal-rollout&fieldValidation=Strict&dryRun=All'],
    [false, 'fieldManager=certmarshal-rollout&fieldValidation=Strict'],
  ])('says what it is; dry run %j', async (dryRun, query) => {
    const { server, client } = await serve((_, response) => answer(response, 200, { metadata: { generation: 2 } }));
    const answered = await patchKubeadmControlPlane(client, { ...patch, apiVersion: 'v1beta2', dryRun });
    expect(answered).toEqual({ metadata: { generation: 2 } });
    const [received] = server.received;
    expect(received).toMatchObject({
      method: 'PATCH',
      url: `/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/eksa-system/kubeadmcontrolplanes/berlin?${query}`,
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(JSON.parse(String(received?.body))).toEqual(body);
    expect(client.stats.writes).toBe(1);
  });

  test('of an EtcdadmCluster', async () => {
    const { server, client } = await serve((_, response) => answer(response, 200, {}));
    await patchEtcdadmCluster(client, { ...patch, name: 'berlin-etcd', dryRun: false });
    expect(server.received[0]?.url).toMatch(
      /^\/apis\/etcdcluster\.cluster\.x-k8s\.io\/v1beta1\/namespaces\/eksa-system\/etcdadmclusters\/berlin-etcd\?/,
    );
  });

  test.each<[number, Readonly<Record<string, string>>, KubernetesErrorKind, number]>([
    [409, {}, 'conflict', 1],
    [422, {}, 'invalid', 1],
    [500, {}, 'server', 1],
    [503, {}, 'server', 1],
    // It was not begun.
    [503, { 'retry-after': '0' }, 'server', 4],
    [429, { 'retry-after': '0' }, 'throttled', 4],
  ])('that is answered %j %j fails as %s after %i tries', async (code, headers, kind, tries) => {
    const { server, client } = await serve((_, response) => {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      answer(response, code, status(code));
    });
    await expect(patchEtcdadmCluster(client, { ...patch, dryRun: false })).rejects.toMatchObject({ kind });
    expect(server.received).toHaveLength(tries);
  });

  test('whose connection breaks is not sent again', async () => {
    const { server, client } = await serve((_, response) => void response.destroy());
    await expect(patchEtcdadmCluster(client, { ...patch, dryRun: false })).rejects.toMatchObject({
      kind: 'unreachable',
    });
    expect(server.received).toHaveLength(1);
  });
});

describe('a Lease', () => {
  const lease = { namespace: 'kube-system', name: 'certmarshal-rollout', signal };
  const PATH = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

  test.each([
    [200, { spec: {} }, { spec: {} }],
    [404, status(404), undefined],
  ])('is read: %i', async (code, body, expected) => {
    const { server, client } = await serve((_, response) => answer(response, code, body));
    expect(await getLease(client, lease)).toEqual(expected);
    expect(server.received[0]?.url).toBe(`${PATH}/certmarshal-rollout`);
  });

  test('is made, and written', async () => {
    const { server, client } = await serve((_, response) => answer(response, 200, {}));
    const spec = { holderIdentity: 'a', renewTime: microTime(0) };
    await createLease(client, { ...lease, spec, fieldManager: 'f' });
    await patchLease(client, { ...lease, uid: 'u', resourceVersion: '7', spec, fieldManager: 'f' });
    expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `POST ${PATH}?fieldManager=f&fieldValidation=Strict`,
      `PATCH ${PATH}/certmarshal-rollout?fieldManager=f&fieldValidation=Strict`,
    ]);
    expect(server.received.map((received) => JSON.parse(received.body))).toEqual([
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: 'kube-system', name: 'certmarshal-rollout' },
        spec,
      },
      { metadata: { uid: 'u', resourceVersion: '7' }, spec },
    ]);
  });

  test('has times of six digits after the second', () => {
    expect(microTime(Date.UTC(2026, 10, 28, 2, 30, 0, 7))).toBe('2026-11-28T02:30:00.007000Z');
  });
});

describe('a template of machines', () => {
  const template = {
    group: 'infrastructure.cluster.x-k8s.io',
    kind: 'VSphereMachineTemplate',
    namespace,
    name: 'berlin-1',
    signal,
  };

  test.each([
    [200, true],
    [404, false],
  ])('is found in the version that the server prefers: %i', async (code, found) => {
    const { server, client } = await serve(({ url }, response) => {
      const group = url.endsWith('.x-k8s.io');
      answer(response, group ? 200 : code, group ? { preferredVersion: { version: 'v1beta1' } } : status(code));
    });
    expect(await hasInfrastructureTemplate(client, template)).toBe(found);
    expect(server.received.at(-1)?.url).toBe(
      '/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/eksa-system/vspheremachinetemplates/berlin-1',
    );
  });

  test.each([
    [{ group: 'a/../b' }, 0],
    [{ group: '' }, 0],
    [{ kind: 'Secret' }, 0],
    [{ kind: '../secretsTemplate' }, 0],
    [{ namespace: '../..' }, 0],
    [{}, 1],
  ])('is not asked for where %j with a server that prefers nothing', async (changes, asked) => {
    const { server, client } = await serve((_, response) =>
      answer(response, 200, { preferredVersion: { version: '..' } }),
    );
    await expect(hasInfrastructureTemplate(client, { ...template, ...changes })).rejects.toMatchObject({
      kind: 'invalid',
    });
    expect(server.received).toHaveLength(asked);
  });

  test('that may not be read is an error', async () => {
    const { client } = await serve((_, response) => answer(response, 403, status(403)));
    await expect(hasInfrastructureTemplate(client, template)).rejects.toMatchObject({ kind: 'forbidden' });
  });
});
