import { describe, expect, it, onTestFinished } from 'vitest';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { type ClusterApiGroup, clusterApiPath } from '../../../lambdas/kubernetes/cluster-api.ts';
import { readClusterApiCertificates } from '../../../lambdas/kubernetes/cluster-api-secret.ts';
import { listKind } from '../../../lambdas/kubernetes/list.ts';
import { answer, startTlsServer, type TlsServer } from './tls-server.ts';

const { signal } = new AbortController();
const GROUPS: readonly ClusterApiGroup[] = [
  'cluster.x-k8s.io',
  'bootstrap.cluster.x-k8s.io',
  'controlplane.cluster.x-k8s.io',
];

/** A server that serves these versions of each group; lists say what was asked. */
async function manage(
  versions: Readonly<Record<string, readonly string[]>>,
): Promise<{ readonly server: TlsServer; readonly client: KubernetesClient }> {
  const server = await startTlsServer(({ url }, response) => {
    const [, group] = /^\/apis\/([^/]+)$/.exec(url) ?? [];
    if (group === undefined) answer(response, 200, { items: [{ url: decodeURIComponent(url) }], metadata: {} });
    else if (versions[group] === undefined)
      answer(response, 404, '404 page not found', { 'content-type': 'text/plain' });
    else answer(response, 200, { kind: 'APIGroup', versions: versions[group].map((version) => ({ version })) });
  });
  const client = createKubernetesClient(server.connection);
  onTestFinished(() => client.close());
  return { server, client };
}

async function urls(pages: AsyncIterable<readonly unknown[]>): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

describe('clusterApiPath', () => {
  it('knows the version of each group on its own, and asks once', async () => {
    const { server, client } = await manage({
      'cluster.x-k8s.io': ['v1beta2', 'v1beta1'],
      'bootstrap.cluster.x-k8s.io': ['v1beta1'],
      'controlplane.cluster.x-k8s.io': ['v1beta1', 'v1beta2'],
    });
    for (let round = 0; round < 2; round += 1) {
      const asked = [...GROUPS, ...GROUPS].map(async (group) => clusterApiPath(client, signal, group));
      const paths = (await Promise.all(asked)).slice(GROUPS.length);
      expect(paths).toEqual([
        '/apis/cluster.x-k8s.io/v1beta2',
        '/apis/bootstrap.cluster.x-k8s.io/v1beta1',
        '/apis/controlplane.cluster.x-k8s.io/v1beta2',
      ]);
    }
    expect(await clusterApiPath(client, signal)).toBe('/apis/cluster.x-k8s.io/v1beta2');
    expect(server.received).toHaveLength(3);
  });

  it('one group can be there without the others', async () => {
    const { client } = await manage({ 'cluster.x-k8s.io': ['v1beta1'] });
    await expect(clusterApiPath(client, signal, 'controlplane.cluster.x-k8s.io')).rejects.toMatchObject({
      kind: 'not-found',
      problem: 'this API server does not serve controlplane.cluster.x-k8s.io, so it has no KubeadmControlPlanes',
    });
    expect(await clusterApiPath(client, signal)).toBe('/apis/cluster.x-k8s.io/v1beta1');
  });
});

describe.each(['v1beta2', 'v1beta1'])('lists of one cluster, %s', (version) => {
  const all = Object.fromEntries(GROUPS.map((group) => [group, [version]]));
  const LABEL = 'labelSelector=cluster.x-k8s.io/cluster-name=berlin';

  it('in the namespace of its Cluster', async () => {
    const { client } = await manage(all);
    const part = 'namespaces/eksa-system/';
    const selection = { clusterName: 'berlin', namespace: 'eksa-system', signal };
    expect(await urls(listKind(client, 'kubeadmconfigs', selection))).toEqual([
      {
        url: `/apis/bootstrap.cluster.x-k8s.io/${version}/${part}kubeadmconfigs?${LABEL},cluster.x-k8s.io/control-plane&limit=500`,
      },
    ]);
    expect(await urls(listKind(client, 'kubeadmcontrolplanes', selection))).toEqual([
      { url: `/apis/controlplane.cluster.x-k8s.io/${version}/${part}kubeadmcontrolplanes?${LABEL}&limit=500` },
    ]);
    expect(await urls(listKind(client, 'etcdadmclusters', selection))).toEqual([
      {
        url: `/apis/etcdcluster.cluster.x-k8s.io/v1beta1/${part}etcdadmclusters?fieldSelector=metadata.name=berlin-etcd&limit=500`,
      },
    ]);
  });
});

it('the Cluster of EKS Anywhere is looked for in all namespaces', async () => {
  const { client } = await manage({});
  expect(await urls(listKind(client, 'eksAnywhereClusters', { clusterName: 'berlin', signal }))).toEqual([
    { url: '/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters?fieldSelector=metadata.name=berlin&limit=500' },
  ]);
});

it.each(['', 'a,b', 'a=b', 'a in (b)', 'a\n', '-a', '../x', 'x'.repeat(64)])(
  '%j is the name of no cluster',
  async (clusterName) => {
    const { server, client } = await manage({ 'bootstrap.cluster.x-k8s.io': ['v1beta1'] });
    const selection = { clusterName, namespace: 'eksa-system', signal };
    for (const kind of ['kubeadmconfigs', 'kubeadmcontrolplanes', 'etcdadmclusters', 'eksAnywhereClusters'] as const)
      await expect(urls(listKind(client, kind, selection))).rejects.toMatchObject({ kind: 'invalid' });
    const secret = { clusterName, namespace: 'eksa-system', secret: 'ca', signal } as const;
    await expect(readClusterApiCertificates(client, secret)).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.received).toEqual([]);
  },
);

describe('readClusterApiCertificates', () => {
  const KEY = 'c2VjcmV0IGtleQ==';
  const read = async (body: unknown, status = 200) => {
    const server = await startTlsServer((_, response) => answer(response, status, body));
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    const secret = { namespace: 'eksa-system', clusterName: 'berlin', secret: 'ca', signal } as const;
    return { server, pem: await readClusterApiCertificates(client, secret).catch((error: unknown) => error) };
  };

  it('returns what is under the one key', async () => {
    const { server, pem } = await read({ data: { 'tls.crt': Buffer.from('PEM').toString('base64'), 'tls.key': KEY } });
    expect(pem).toBe('PEM');
    expect(server.received.map(({ url }) => url)).toEqual(['/api/v1/namespaces/eksa-system/secrets/berlin-ca']);
  });

  it.each<[string, unknown, number]>([
    ['an answer without it', { data: { 'tls.key': KEY } }, 200],
    ['an answer that is cut', `{"data":{"tls.key":"${KEY}"`, 200],
    ['a refusal that quotes it', { kind: 'Status', message: 'no', details: { causes: [{ message: KEY }] } }, 403],
  ])('no error says anything of a Secret: %s', async (_, body, status) => {
    const { pem } = await read(body, status);
    expect(pem).toMatchObject({ name: 'KubernetesError' });
    const said = pem instanceof Error ? `${pem.message} ${pem.stack} ${JSON.stringify(pem)} ${String(pem.cause)}` : '';
    expect(said).not.toContain(KEY);
  });
});
