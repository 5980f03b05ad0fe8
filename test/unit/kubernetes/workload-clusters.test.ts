import { describe, expect, onTestFinished, test } from 'vitest';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
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
  return {
    urls: () => server.received.map(({ url }) => url),
    found: listWorkloadClusters(client, ['eksa-system'], signal),
  };
}

const cluster = (cidrBlocks?: unknown, name: unknown = 'berlin', namespace: unknown = 'eksa-system') => ({
  metadata: { name, namespace },
  spec: { clusterNetwork: { services: { cidrBlocks } } },
});

describe('listWorkloadClusters', () => {
  test.each([
    [['v1beta1', 'v1beta2'], 'v1beta2'],
    [['v1beta1'], 'v1beta1'],
  ])('of %j reads %s, in the namespace', async (versions, version) => {
    const { found, urls } = await list([cluster(['10.96.0.0/12', 'fd00:10:96::/112'])], versions);
    expect(await found).toEqual({
      clusters: [{ namespace: 'eksa-system', name: 'berlin', serviceCidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] }],
      cut: false,
      problems: [],
    });
    expect(urls()[1]).toBe(`/apis/cluster.x-k8s.io/${version}/namespaces/eksa-system/clusters?limit=500`);
  });

  test('reads each namespace once, and no other', async () => {
    const server = await startTlsServer(({ url }, response) => {
      const namespace = /namespaces\/([^/]+)\/clusters/.exec(url)?.[1];
      if (namespace === undefined) answer(response, 200, { versions: [{ version: 'v1beta1' }] });
      else answer(response, 200, { items: [cluster([], `in-${namespace}`, namespace)], metadata: {} });
    });
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    const { clusters } = await listWorkloadClusters(client, ['a', 'b', 'a'], signal);
    expect(clusters.map(({ name }) => name)).toEqual(['in-a', 'in-b']);
    expect(server.received).toHaveLength(3);
    await expect(listWorkloadClusters(client, ['../..'], signal)).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.received).toHaveLength(3);
  });

  const WITHOUT_CIDRS = { namespace: 'eksa-system', name: 'berlin' };

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['an empty list', []],
  ])('knows no service CIDRs by %s', async (_, cidrs) => {
    expect(await (await list([cluster(cidrs)])).found).toMatchObject({ clusters: [WITHOUT_CIDRS], problems: [] });
  });

  test.each([
    ['text', '10.96.0.0/12'],
    ['too many', Array(17).fill('10.96.0.0/12')],
    ['one that is none', ['10.96.0.0/12', '10.96.0.0']],
    ['a prefix that is too long', ['10.96.0.0/33']],
    ['a zone', ['fe80::1%eth0/64']],
    ['a number', [7]],
  ])('says that it knows no service CIDRs by %s', async (_, cidrs) => {
    const { clusters, problems } = await (await list([cluster(cidrs)])).found;
    expect(clusters).toEqual([WITHOUT_CIDRS]);
    expect(problems).toMatchObject([
      { kind: 'workload-clusters', message: expect.stringMatching(/service CIDRs.*: eksa-system\/berlin$/) },
    ]);
  });

  test.each([
    ['no object', null],
    ['no metadata', {}],
    ['a name with a slash', cluster([], 'a/b')],
    ['a name with a control character', cluster([], 'a\u001b[31m')],
    ['a name that no label can hold', cluster([], 'a'.repeat(64))],
    ['another namespace', cluster([], 'a', 'kube-system')],
  ])('leaves out one with %s, and says so', async (_, item) => {
    const { clusters, problems, cut } = await (await list([item, cluster([], 'oslo')])).found;
    expect(clusters.map(({ name }) => name)).toEqual(['oslo']);
    expect(cut).toBe(false);
    expect(problems).toMatchObject([
      { kind: 'workload-clusters', message: expect.stringMatching(/^each of these Clusters is not swept/) },
    ]);
    expect(JSON.stringify(problems)).not.toContain('\u001b');
  });

  test('names three of many', async () => {
    const { problems } = await (await list(Array.from({ length: 900 }, () => cluster([], '_')))).found;
    expect(problems).toMatchObject([
      { message: expect.stringMatching(/(eksa-system\/_, ){2}eksa-system\/_ and 897 more$/) },
    ]);
  });

  test('looks at 1,000, and says that there are more', async () => {
    const items = Array.from({ length: 1_001 }, (_, index) => cluster([], `c-${index}`));
    expect(await (await list(items.slice(1))).found).toMatchObject({ cut: false, problems: [] });
    const { clusters, cut, problems } = await (await list(items)).found;
    expect(clusters).toHaveLength(1_000);
    expect(cut).toBe(true);
    expect(problems).toMatchObject([{ message: expect.stringContaining('more than 1000 Clusters') }]);
  });

  test('a cluster without Cluster API', async () => {
    await expect((await list(undefined)).found).rejects.toMatchObject({
      kind: 'not-found',
      problem: expect.stringContaining('does not serve cluster.x-k8s.io'),
    });
  });

  test.each([
    ['by its name, without its service CIDRs', 'oslo', ['berlin', 'oslo'], false],
    ['not at all, if its name is not shown: others are not taken for gone', undefined, ['berlin'], true],
  ])('has one that is too large %s', async (_name, name, names, isCut) => {
    const client: Pick<KubernetesClient, 'server' | 'request'> = {
      server: 'https://host',
      request: async ({ path, query = {}, asTable }) => {
        if (path === '/apis/cluster.x-k8s.io') return { versions: [{ version: 'v1beta2' }] };
        const metadata = { resourceVersion: '7', ...(query['continue'] === undefined ? { continue: '1' } : {}) };
        if (asTable === true)
          return { kind: 'Table', metadata, columnDefinitions: [{ name: 'Name' }], rows: [{ cells: [name] }] };
        if (query['continue'] === '1') return { metadata, items: [cluster(['10.96.0.0/12'])] };
        throw new KubernetesError({ kind: 'too-large', object: 'list', problem: 'large', remedy: '' });
      },
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that a list uses
    const found = await listWorkloadClusters(client as KubernetesClient, ['eksa-system'], signal);
    expect(found.clusters.map((one) => one.name).toSorted()).toEqual(names);
    expect(found.cut).toBe(isCut);
    expect(found.problems).toMatchObject([{ kind: 'too-large' }]);
  });
});
