import { describe, expect, test } from 'vitest';
import { readKubeletMetrics } from '../../../lambdas/audit/sources/kubelet-metrics.ts';
import { readConfigMap } from '../../../lambdas/audit/sources/trust-configmaps.ts';
import { getSigningRequest, updateApproval } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { readClusterApiSecret } from '../../../lambdas/kubernetes/cluster-api-secret.ts';
import { objectPath } from '../../../lambdas/kubernetes/ensure-object.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { hasInfrastructureTemplate } from '../../../lambdas/kubernetes/infrastructure-templates.ts';
import { createLease, getLease, patchLease } from '../../../lambdas/kubernetes/leases.ts';
import { patchEtcdadmCluster, patchKubeadmControlPlane } from '../../../lambdas/kubernetes/merge-patch.ts';

// Names come from objects of a cluster, and a credential of ours goes wherever the path leads.

const { signal } = new AbortController();
const patch = { body: {}, fieldManager: 'test', dryRun: false, signal };
const lease = { uid: 'u', resourceVersion: '1', spec: {}, fieldManager: 'test', signal };

type Caller = (client: KubernetesClient, namespace: string, name: string) => Promise<unknown>;

const CALLERS: Readonly<Record<string, Caller>> = {
  'get a request': (client, _, name) => getSigningRequest(client, name, signal),
  'approve a request': (client, _, name) => {
    const subject = { name, uid: 'u', resourceVersion: '1', metadata: {}, conditions: [] };
    return updateApproval(client, subject, { type: 'Approved', reason: 'R', message: '' }, signal);
  },
  'get a Secret of a cluster': (client, namespace, clusterName) =>
    readClusterApiSecret(client, { namespace, clusterName, secret: 'ca', signal }),
  'get a ConfigMap': (client, namespace, name) => readConfigMap(client, { namespace, name, signal }),
  'get a Lease': (client, namespace, name) => getLease(client, { namespace, name, signal }),
  'patch a Lease': (client, namespace, name) => patchLease(client, { namespace, name, ...lease }),
  'patch a KubeadmControlPlane': (client, namespace, name) =>
    patchKubeadmControlPlane(client, { apiVersion: 'v1beta2', namespace, name, ...patch }),
  'patch an EtcdadmCluster': (client, namespace, name) => patchEtcdadmCluster(client, { namespace, name, ...patch }),
  'get a template': (client, namespace, name) =>
    hasInfrastructureTemplate(client, { group: 'a.io', kind: 'XMachineTemplate', namespace, name, signal }),
  'get the metrics of a kubelet': (client, _, node) => readKubeletMetrics(client, { node, signal }),
  'find an object of certmarshal': (client, namespace, name) =>
    client.request({
      method: 'GET',
      path: objectPath({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } }),
    }),
};
const WITH_NAMESPACE = Object.entries(CALLERS).filter(([what]) => !/request|kubelet|certmarshal/.test(what));

/** The path that is asked for last; undefined where the name is refused before anything is sent. */
async function pathOf(call: Caller, namespace: string, name: string): Promise<string | undefined> {
  const paths: string[] = [];
  const answer = { preferredVersion: { version: 'v1' }, data: { value: 'eA==', 'tls.crt': 'eA==' } };
  const request = async ({ path }: ApiCall) => {
    paths.push(path);
    return answer;
  };
  const client = {
    server: 'https://10.0.0.1',
    request,
    requestText: async (one: ApiCall) => JSON.stringify(await request(one)),
  };
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the callers use of it
    await call(client as unknown as KubernetesClient, namespace, name);
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'invalid') throw error;
    if (paths.length > 0) throw new Error(`sent to ${paths.join(', ')}`, { cause: error });
    return undefined;
  }
  return paths.at(-1);
}

const HOSTILE = [
  'a/b',
  '../x',
  'x/../../../../api/v1/secrets',
  '/etc',
  'a?watch=true',
  'a#b',
  'a%2fb',
  'a%00',
  'a b',
  'a\r\nHost: x',
  'a;b',
  'ä',
  '\\..\\x',
];

describe('a name of somebody else stays one segment of the path', () => {
  test.each(Object.entries(CALLERS))('%s', async (_, call) => {
    const ordinary = await pathOf(call, 'ns', 'plain');
    expect(ordinary).toContain('plain');
    for (const name of HOSTILE) {
      const path = await pathOf(call, 'ns', name);
      if (path === undefined) continue;
      expect(path).toMatch(/^[!-~]+$/);
      expect(path).not.toMatch(/[?#]/);
      expect(path.split('/').map(decodeURIComponent)).toEqual(
        (ordinary ?? '').split('/').map((segment) => segment.replace('plain', () => name)),
      );
    }
  });
});

describe('a namespace that none can be is refused before anything is sent', () => {
  const made: [string, Caller] = [
    'make a Lease',
    (client, namespace, name) => createLease(client, { namespace, name, spec: {}, fieldManager: 'test', signal }),
  ];
  test.each([...WITH_NAMESPACE, made])('%s', async (_, call) => {
    for (const namespace of [...HOSTILE, '', '.', '..', 'A', '-a', 'x'.repeat(64)])
      expect(await pathOf(call, namespace, 'plain')).toBeUndefined();
  });
});
