import { describe, expect, test } from 'vitest';
import { readKubeletMetrics } from '../../../lambdas/audit/sources/kubelet-metrics.ts';
import { listTlsSecrets } from '../../../lambdas/audit/sources/tls-secrets.ts';
import { readConfigMap } from '../../../lambdas/audit/sources/trust-configmaps.ts';
import { listSigningRequests } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { listKind } from '../../../lambdas/kubernetes/list.ts';
import { answer, serve } from './tls-server.ts';

const { signal } = new AbortController();

async function all<T>(pages: AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

test.each<[string, (client: KubernetesClient) => AsyncIterable<readonly unknown[]>, string]>([
  [
    'requests of all signers',
    (client) => listSigningRequests(client, { signal }),
    '/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=1000',
  ],
  [
    'validating webhooks',
    (client) => listKind(client, 'validatingwebhookconfigurations', { signal }),
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?limit=500',
  ],
  [
    'mutating webhooks',
    (client) => listKind(client, 'mutatingwebhookconfigurations', { signal }),
    '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?limit=500',
  ],
  [
    'APIServices',
    (client) => listKind(client, 'apiservices', { signal }),
    '/apis/apiregistration.k8s.io/v1/apiservices?limit=500',
  ],
  [
    'CustomResourceDefinitions',
    (client) => listKind(client, 'customresourcedefinitions', { signal }),
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=50',
  ],
  [
    'Certificates',
    (client) => listKind(client, 'certificates', { signal }),
    '/apis/cert-manager.io/v1/certificates?limit=500',
  ],
])('%s are listed', async (_, list, url) => {
  const { server, client } = await serve((__, response) => answer(response, 200, { items: [{ a: 1 }], metadata: {} }));
  expect(await all(list(client))).toEqual([{ a: 1 }]);
  expect(server.received.map((received) => received.url)).toEqual([url]);
});

describe('a ConfigMap', () => {
  const of = { namespace: 'kube-system', name: 'kube-root-ca.crt', signal };

  test('is its data', async () => {
    const { server, client } = await serve((_, response) => answer(response, 200, { data: { 'ca.crt': 'x' } }));
    expect(await readConfigMap(client, of)).toEqual({ 'ca.crt': 'x' });
    expect(server.received[0]?.url).toBe('/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt');
  });

  test.each([{}, { data: null }, { data: 'x' }, { data: [] }])('without any: %j', async (body) => {
    const { client } = await serve((_, response) => answer(response, 200, body));
    expect(await readConfigMap(client, of)).toEqual({});
  });

  test('is one small object', async () => {
    const { client } = await serve((_, response) =>
      answer(response, 200, { data: { a: 'x'.repeat(4 * 1024 * 1024) } }),
    );
    await expect(readConfigMap(client, of)).rejects.toMatchObject({ kind: 'too-large' });
  });
});

describe('TLS Secrets', () => {
  test('are asked for by type, and only the certificate goes any further', async () => {
    const items = [
      { metadata: { namespace: 'a', name: 'b', uid: 'u' }, data: { 'tls.crt': 'Y3J0', 'tls.key': 'a2V5' } },
      7,
      { metadata: 7, data: 7 },
    ];
    const { server, client } = await serve((_, response) => answer(response, 200, { items, metadata: {} }));
    const secrets = await all(listTlsSecrets(client, { signal }));
    expect(secrets).toEqual([{ namespace: 'a', name: 'b', certificate: 'Y3J0' }, {}, {}]);
    expect(server.received[0]?.url).toBe('/api/v1/secrets?fieldSelector=type%3Dkubernetes.io%2Ftls&limit=250');
  });

  test('that are no answer: the error has nothing of it', async () => {
    const { client } = await serve((_, response) => answer(response, 200, '{"items":[{"data":{"tls.key":"a2V5'));
    const error: unknown = await all(listTlsSecrets(client, { signal })).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: 'not-kubernetes' });
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('a2V5');
  });
});

describe('metrics of a kubelet', () => {
  test('come through the API server', async () => {
    const { server, client } = await serve((_, response) =>
      answer(response, 200, 'a 1\n', { 'content-type': 'text/plain' }),
    );
    expect(await readKubeletMetrics(client, { node: 'ip-10-0-1-2.eu-west-1.compute.internal', signal })).toBe('a 1\n');
    expect(server.received[0]?.url).toBe('/api/v1/nodes/ip-10-0-1-2.eu-west-1.compute.internal/proxy/metrics');
  });

  test.each(['', '.', '..', 'a/b', 'A', 'a%2f', 'a?b', 'x'.repeat(254)])('%j is no name', async (node) => {
    const { server, client } = await serve((_, response) => answer(response, 200, ''));
    await expect(readKubeletMetrics(client, { node, signal })).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.received).toEqual([]);
  });
});
