import { expect, test } from 'vitest';
import { readKubeletMetrics } from '../../../lambdas/audit/sources/kubelet-metrics.ts';
import { listSigningRequests } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { readClusterApiCertificates } from '../../../lambdas/kubernetes/cluster-api-secret.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { hasInfrastructureTemplate } from '../../../lambdas/kubernetes/infrastructure-templates.ts';
import { getLease } from '../../../lambdas/kubernetes/leases.ts';
import { listKind } from '../../../lambdas/kubernetes/list.ts';
import { patchEtcdadmCluster, patchKubeadmControlPlane } from '../../../lambdas/kubernetes/merge-patch.ts';
import { missingRight } from '../../../lambdas/kubernetes/missing-right.ts';

const { signal } = new AbortController();
const APPLY = '| kubectl apply -f - (';
const OWN = `--service-account kube-system/certmarshal ${APPLY}the subject must be the user of certmarshal`;
const BERLIN = { namespace: 'eksa-system', name: 'berlin' };
const PATCH = { ...BERLIN, body: {}, fieldManager: 'certmarshal', dryRun: true, signal };

/** Of an API server that refuses every call but discovery, or that too. */
function refusing(discovers: boolean) {
  let right: Parameters<typeof missingRight>[0];
  const request: KubernetesClient['request'] = async (call) => {
    const [, group] = /^\/apis\/([^/]+)$/.exec(call.path) ?? [];
    if (group !== undefined && discovers)
      return { versions: [{ version: 'v1beta2' }], preferredVersion: { version: 'v1beta2' } };
    ({ right } = call);
    throw new KubernetesError({ kind: 'forbidden', object: call.path, status: 403, problem: 'no', remedy: '' });
  };
  const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
  const client = {
    server: 'https://berlin.test',
    stats,
    request,
    requestText: async (call: Parameters<typeof request>[0]) => JSON.stringify(await request(call)),
    close() {},
  };
  return { client, remedy: () => missingRight(right) };
}

const list = (id: Parameters<typeof listKind>[1]) => async (client: KubernetesClient) =>
  listKind(client, id, { signal }).next();
const secret = (name: 'kubeconfig' | 'apiserver-etcd-client') => async (client: KubernetesClient) =>
  readClusterApiCertificates(client, { namespace: 'eksa-system', clusterName: 'berlin', secret: name, signal });
const template = (kind: string) => async (client: KubernetesClient) =>
  hasInfrastructureTemplate(client, { ...BERLIN, group: 'infrastructure.example.com', kind, signal });

test.each<readonly [string, (client: KubernetesClient) => Promise<unknown>, string]>([
  ['requests', async (client) => listSigningRequests(client, { signal }).next(), `certmarshal rbac ${APPLY}`],
  ['nodes', list('nodes'), `certmarshal rbac ${APPLY}`],
  ['certificates of cert-manager', list('certificates'), `certmarshal rbac ${APPLY}`],
  ['TLS secrets', list('tlsSecrets'), `certmarshal rbac --audit-secrets ${APPLY}`],
  ['Machines', list('machines'), `certmarshal rbac --management ${APPLY}`],
  ['Clusters of EKS Anywhere', list('eksAnywhereClusters'), `certmarshal rbac --management ${APPLY}`],
  ['MachineHealthChecks', list('machinehealthchecks'), `certmarshal rbac --management --rollouts ${OWN}`],
  ['upgrades', list('controlplaneupgrades'), `certmarshal rbac --management --rollouts ${OWN}`],
  ['Leases of Nodes', list('leases'), `certmarshal rbac --recovery ${OWN}`],
  [
    'metrics',
    async (client) => readKubeletMetrics(client, { node: 'worker-3', signal }),
    `certmarshal rbac --kubelet-metrics ${APPLY}`,
  ],
  [
    'Secret of etcd',
    secret('apiserver-etcd-client'),
    `certmarshal rbac --management --audit-secrets --cluster-secrets-of eksa-system/berlin ${APPLY}`,
  ],
  [
    'kubeconfig',
    secret('kubeconfig'),
    `certmarshal rbac --management --kubeconfig-of eksa-system/berlin ${APPLY}that kubeconfig is an administrator's`,
  ],
  [
    'Lease of a rollout',
    async (client) => getLease(client, { namespace: 'kube-system', name: 'certmarshal-rollout', signal }),
    `certmarshal rbac --management --rollouts ${OWN}`,
  ],
  [
    'control plane',
    async (client) => patchKubeadmControlPlane(client, { ...PATCH, apiVersion: 'v1beta2' }),
    `certmarshal rbac --management --rollouts --rollout-of eksa-system/berlin ${OWN}`,
  ],
  [
    'external etcd',
    async (client) => patchEtcdadmCluster(client, { ...PATCH, name: 'berlin-etcd' }),
    `certmarshal rbac --management --rollouts --rollout-of eksa-system/berlin --rollout-etcd ${OWN}`,
  ],
  ['template of vSphere', template('VSphereMachineTemplate'), `certmarshal rbac --management --rollouts ${OWN}`],
  [
    'template of a stranger',
    template('ProxmoxMachineTemplate'),
    'kubectl create role certmarshal-templates -n eksa-system --verb=get --resource=proxmoxmachinetemplates.infrastructure.example.com',
  ],
])('403 on %s', async (_what, ask, expected) => {
  const { client, remedy } = refusing(true);
  await expect(ask(client)).rejects.toMatchObject({ kind: 'forbidden' });
  expect(remedy()).toContain(expected);
});

test('403 on discovery, which Kubernetes allows to everyone', async () => {
  const { client, remedy } = refusing(false);
  await expect(list('machines')(client)).rejects.toMatchObject({ kind: 'forbidden' });
  expect(remedy()).toContain('system:discovery');
});
