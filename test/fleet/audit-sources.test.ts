import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { AuditContext } from '../../lambdas/audit/audit-source.ts';
import { apiServices, crdConversions, webhooks } from '../../lambdas/audit/sources/ca-bundles.ts';
import { certManager } from '../../lambdas/audit/sources/cert-manager.ts';
import { nodes } from '../../lambdas/audit/sources/nodes.ts';
import { signingRequests } from '../../lambdas/audit/sources/signing-requests.ts';
import { tlsSecrets } from '../../lambdas/audit/sources/tls-secrets.ts';
import { trustConfigMaps } from '../../lambdas/audit/sources/trust-configmaps.ts';
import { localClient } from '../support/local-client.ts';
import { NO_EVIDENCE } from '../unit/audit/sources/fake-cluster.ts';
import { startSimulatedApiServer } from './api-server.ts';
import { fastClock } from './clock.ts';

const metadataOf = (name: string, namespace?: string) => ({
  name,
  namespace,
  uid: randomUUID(),
  creationTimestamp: '2026-01-01T00:00:00Z',
});

test('every source of a cluster itself, through the network', async () => {
  const server = await startSimulatedApiServer({ clock: fastClock(Date.now(), 1), name: 'berlin' });
  onTestFinished(async () => server.stop());
  const { api, caPem } = server;
  const caBundle = Buffer.from(caPem).toString('base64');
  api.nodes.put({ metadata: metadataOf('worker-1'), status: {} });
  api.audited('configMaps').put({ metadata: metadataOf('kube-root-ca.crt', 'kube-system'), data: { 'ca.crt': caPem } });
  api.audited('secrets').put({
    metadata: metadataOf('web', 'shop'),
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': caBundle, 'tls.key': 'a2V5' },
  });
  api.audited('secrets').put({ metadata: metadataOf('other', 'shop'), type: 'Opaque', data: { 'tls.crt': caBundle } });
  api.audited('validatingWebhookConfigurations').put({
    metadata: metadataOf('hook'),
    webhooks: [{ name: 'a.example.com', clientConfig: { caBundle } }],
  });
  api.audited('apiServices').put({ metadata: metadataOf('v1.example.com'), spec: { caBundle } });
  api.audited('customResourceDefinitions').put({
    metadata: metadataOf('things.example.com'),
    spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { caBundle } } } },
  });
  api.audited('certManagerCertificates').put({
    metadata: metadataOf('web', 'shop'),
    status: { notAfter: '2027-01-01T00:00:00Z' },
  });

  const workload = localClient(server, server.adminToken);
  onTestFinished(() => workload.close());
  const context: AuditContext = {
    target: {
      id: 'berlin',
      cluster: { name: 'berlin', provider: 'eks-anywhere' },
      workload,
      machinesNamespace: 'eksa-system',
      reach: { handshakes: false, secrets: true, kubeletMetrics: false },
    },
    now: Date.now,
    signal: new AbortController().signal,
    members: [],
    authorities: [],
    issuedJudge: async () => NO_EVIDENCE,
    remembered: new Set(),
  };
  const all = [nodes, trustConfigMaps, signingRequests, webhooks, apiServices, crdConversions, certManager, tlsSecrets];
  const seen = await Promise.all(all.map(async (source) => (await source.observe(context)).observations));
  const places = seen.flat().map((observation) => {
    if (observation.kind === 'member') return observation.name;
    return 'where' in observation ? `${observation.kind} ${observation.where}` : observation.kind;
  });
  expect(places).toEqual([
    'Node worker-1',
    'certificate ConfigMap kube-system/kube-root-ca.crt',
    'unread ConfigMap kube-system/extension-apiserver-authentication',
    'unread ConfigMap kube-system/extension-apiserver-authentication',
    'unread ConfigMap kube-public/cluster-info',
    `certificate what certmarshal trusts for ${server.server}`,
    'certificate ValidatingWebhookConfiguration hook (webhook a.example.com)',
    'certificate APIService v1.example.com',
    'certificate CustomResourceDefinition things.example.com (conversion)',
    'certificate Certificate shop/web',
    'certificate Secret shop/web',
  ]);
});
