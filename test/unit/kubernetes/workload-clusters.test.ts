import { describe, expect, onTestFinished, test } from 'vitest';

import { createKubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { listWorkloadClusters } from '../../../lambdas/kubernetes/workload-clusters.ts';
import { answer, startTlsServer } from './tls-server.ts';

const { signal } = new AbortController();

async function list(items: readonly unknown[] | undefined, versions: readonly string[] = ['v1beta2', 'v1beta1']) {
  const server = await startTlsServer(({ url }, response) => {
    if (url !== '/apis/cluster.x-k8s.io') answer(response, 200, { items, metadata: {} });
    else if (items === undefined) answer(response, 404, '404 page not found', { 'content-type': 'text/plain' });
    else answer(response, 200, { kind: 'APIGroup', versions: versions.map((version) => ({ version })) });
  });
  const client = createKubernetesClient(server.connection);
  onTestFinished(() => client.close());
  return { urls: () => server.received.map(({ url }) => url), clusters: listWorkloadClusters(client, signal) };
}

const cluster = (cidrBlocks?: unknown, name: unknown = 'berlin', namespace: unknown = 'eksa-system') => ({
  metadata: { name, namespace },
  spec: { clusterNetwork: { services: { cidrBlocks } } },
});

describe('listWorkloadClusters', () => {
  test.each([
    [['v1beta1', 'v1beta2'], 'v1beta2'],
    [['v1beta1'], 'v1beta1'],
  ])('of %j reads %s, all namespaces', async (versions, version) => {
    const { clusters, urls } = await list([cluster(['10.96.0.0/12', 'fd00:10:96::/112'])], versions);
    expect(await clusters).toEqual([
      { namespace: 'eksa-system', name: 'berlin', serviceCidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
    ]);
    expect(urls()[1]).toBe(`/apis/cluster.x-k8s.io/${version}/clusters?limit=500`);
  });

  test.each([
    ['none', undefined],
    ['an empty list', []],
    ['text', '10.96.0.0/12'],
    ['too many', Array(17).fill('10.96.0.0/12')],
    ['one that is none', ['10.96.0.0/12', '10.96.0.0']],
    ['a prefix that is too long', ['10.96.0.0/33']],
    ['a zone', ['fe80::1%eth0/64']],
    ['a number', [7]],
  ])('knows no service CIDRs by %s', async (_, cidrs) => {
    expect(await (await list([cluster(cidrs)])).clusters).toEqual([{ namespace: 'eksa-system', name: 'berlin' }]);
  });

  test.each([
    ['no object', null],
    ['no metadata', {}],
    ['a name with a slash', cluster([], 'a/b')],
    ['a name with a control character', cluster([], 'a\u001b[31m')],
    ['a namespace that is none', cluster([], 'a', '..')],
  ])('refuses a list with %s', async (_, item) => {
    await expect((await list([item])).clusters).rejects.toMatchObject({
      kind: 'not-kubernetes',
      object: expect.stringMatching(/^list clusters on https:/),
    });
  });

  test('has a limit', async () => {
    const items = Array.from({ length: 1_001 }, (_, index) => cluster([], `c-${index}`));
    await expect((await list(items)).clusters).rejects.toMatchObject({ kind: 'too-large' });
  });

  test('a cluster without Cluster API', async () => {
    await expect((await list(undefined)).clusters).rejects.toMatchObject({
      kind: 'not-found',
      problem: expect.stringContaining('serves no cluster.x-k8s.io'),
    });
  });
});
