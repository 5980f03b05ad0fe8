import { describe, expect, onTestFinished, test } from 'vitest';
import { createKubernetesClient, type KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { listKind } from '../../../lambdas/kubernetes/list.ts';
import { listMachines } from '../../../lambdas/kubernetes/machines.ts';
import { answer, startTlsServer, type TlsServer } from './tls-server.ts';

const { signal } = new AbortController();

/** A management cluster that serves these versions of cluster.x-k8s.io; undefined: the group is not served. */
async function manage(
  versions: readonly string[] | undefined,
): Promise<{ readonly server: TlsServer; readonly client: KubernetesClient }> {
  const server = await startTlsServer(({ url }, response) => {
    if (url !== '/apis/cluster.x-k8s.io') answer(response, 200, { items: [{ url }], metadata: {} });
    else if (versions === undefined) answer(response, 404, '404 page not found', { 'content-type': 'text/plain' });
    else answer(response, 200, { kind: 'APIGroup', versions: versions.map((version) => ({ version })) });
  });
  const client = createKubernetesClient(server.connection);
  onTestFinished(() => client.close());
  return { server, client };
}

const NOTHING = { items: [], metadata: {} };

async function machinesOf(
  client: KubernetesClient,
  clusterName = 'berlin',
  namespace = 'eksa-system',
): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const page of listMachines(client, { clusterName, namespace, signal })) items.push(...page);
  return items;
}

describe('listMachines', () => {
  test.each([
    [['v1beta1', 'v1beta2'], 'v1beta2'],
    [['v1beta2'], 'v1beta2'],
    [['v1alpha4', 'v1beta1'], 'v1beta1'],
  ])('of %j reads %s, one cluster in its namespace', async (versions, version) => {
    const { client } = await manage(versions);
    expect(await machinesOf(client)).toEqual([
      {
        url: `/apis/cluster.x-k8s.io/${version}/namespaces/eksa-system/machines?labelSelector=cluster.x-k8s.io%2Fcluster-name%3Dberlin&limit=500`,
      },
    ]);
  });

  test('says where it looked when there is none', async () => {
    const server = await startTlsServer(({ url }, response) =>
      answer(response, 200, url === '/apis/cluster.x-k8s.io' ? { versions: [{ version: 'v1beta2' }] } : NOTHING),
    );
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    await expect(machinesOf(client, 'berlin', 'team-a')).rejects.toMatchObject({
      kind: 'invalid',
      problem: 'namespace team-a has no Machine of cluster berlin',
      remedy: expect.stringContaining(
        'name and namespace of its Cluster at its entry in fleet.yaml, or with --cluster and --namespace',
      ),
    });
  });

  test.each(['', 'a/b', '..', 'A', 'x'.repeat(64)])('%j is no namespace', async (namespace) => {
    const { server, client } = await manage(['v1beta2']);
    await expect(machinesOf(client, 'berlin', namespace)).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.received).toEqual([]);
  });

  test('asks for the version once a client', async () => {
    const { server, client } = await manage(['v1beta1']);
    await machinesOf(client);
    await machinesOf(client, 'dublin');
    expect(server.received.filter(({ url }) => url === '/apis/cluster.x-k8s.io')).toHaveLength(1);
    expect(server.received).toHaveLength(3);
  });

  test('a cluster without Cluster API', async () => {
    const { client } = await manage(undefined);
    await expect(machinesOf(client)).rejects.toMatchObject({
      kind: 'not-found',
      object: `get /apis/cluster.x-k8s.io on ${client.server}`,
      problem: 'this API server does not serve cluster.x-k8s.io, so it has no Machines',
      remedy: expect.stringMatching(
        /--management-kubeconfig or --management-context on the command line or managementKubeconfigSecret in fleet\.yaml; if you did, /,
      ),
    });
  });

  test('discovery is one small object, not a list', async () => {
    const server = await startTlsServer((_, response) =>
      answer(response, 200, { versions: [{ version: 'v1beta2' }], padding: 'x'.repeat(5 * 1024 * 1024) }),
    );
    const client = createKubernetesClient(server.connection);
    onTestFinished(() => client.close());
    await expect(machinesOf(client)).rejects.toMatchObject({ kind: 'too-large' });
  });

  test.each([[['v1alpha3', 'v1']], [[]]])('versions that are not understood: %j', async (versions) => {
    const { client } = await manage(versions);
    await expect(machinesOf(client)).rejects.toMatchObject({
      kind: 'invalid',
      problem: expect.stringContaining('not served in any of the versions'),
    });
  });

  test.each(['', 'a,b', 'a in (b)', 'a\n', '-a', 'x'.repeat(64)])('%j is no name for a cluster', async (name) => {
    const { server, client } = await manage(['v1beta1']);
    await expect(machinesOf(client, name)).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.received).toEqual([]);
  });
});

test('listNodes', async () => {
  const { client } = await manage([]);
  const items: unknown[] = [];
  for await (const page of listKind(client, 'nodes', { signal })) items.push(...page);
  expect(items).toEqual([{ url: '/api/v1/nodes?limit=200' }]);
});
