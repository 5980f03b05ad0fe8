import { expect, test } from 'vitest';
import { apiServices, crdConversions, webhooks } from '../../../../lambdas/audit/sources/ca-bundles.ts';
import { certManager } from '../../../../lambdas/audit/sources/cert-manager.ts';
import { clusterSecrets } from '../../../../lambdas/audit/sources/cluster-secrets.ts';
import { kubeletMetrics } from '../../../../lambdas/audit/sources/kubelet-metrics.ts';
import { nodes } from '../../../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../../../lambdas/audit/sources/signing-requests.ts';
import { tlsSecrets } from '../../../../lambdas/audit/sources/tls-secrets.ts';
import { trustConfigMaps } from '../../../../lambdas/audit/sources/trust-configmaps.ts';
import { contextOf, fakeClient } from './fake-cluster.ts';
import { machineMember } from './fake-management.ts';

const objects = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    metadata: { name: `o-${n}`, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: `system:node:o-${n}` },
  }));

test.each([kubeletMetrics, trustConfigMaps, clusterSecrets])(
  'a fault in $id is no word about a cluster',
  async (source) => {
    const request = async () => {
      throw new TypeError('a fault');
    };
    const client = { ...fakeClient({}), request, requestText: request };
    const { target, ...context } = contextOf(client, { members: [machineMember('cp', 'control-plane', 'a')] });
    await expect(source.observe({ ...context, target: { ...target, management: client } })).rejects.toThrow('a fault');
  },
);

/** With the 6 of its management cluster, and what EKS Anywhere and the clock add, an audit stays below 25. */
test('an idle cluster of 200 nodes is asked 12 times, Secrets included', async () => {
  const client = fakeClient({
    '/api/v1/nodes': objects(200),
    '/apis/certificates.k8s.io/v1/certificatesigningrequests': objects(200),
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations': objects(15),
    '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations': objects(15),
    '/apis/apiregistration.k8s.io/v1/apiservices': objects(60),
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': objects(100),
    '/apis/cert-manager.io/v1/certificates': objects(40),
    '/api/v1/secrets': objects(40),
    '/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt': { data: {} },
    '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication': { data: {} },
  });
  const context = contextOf(client);
  const first = await Promise.all([nodes, trustConfigMaps].map(async (source) => source.observe(context)));
  const members = first.flatMap(({ observations }) => observations.filter((seen) => seen.kind === 'member'));
  const second = [signingRequests, webhooks, apiServices, crdConversions, certManager, tlsSecrets];
  const counts = await Promise.all(second.map(async (source) => (await source.observe({ ...context, members })).count));
  expect(members).toHaveLength(200);
  expect(counts).toEqual([200, 30, 60, 100, 40, 40]);
  expect(client.calls).toHaveLength(12);
});
