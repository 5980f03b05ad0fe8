import { rbacManifests } from '../../../bin/commands/rbac.ts';
import { DEFAULT_POLICY, KUBELET_CLIENT_SIGNER } from '../../../lambdas/approval/policy.ts';
import { microTime } from '../../../lambdas/kubernetes/leases.ts';
import { DEFAULT_BOOTSTRAP_GROUPS } from '../../../lambdas/recovery/recovery.ts';
import { controlPlaneMachine, workerMachine } from '../../providers/objects.ts';
import { PROVIDERS } from '../../providers/table.ts';
import { makeRequest } from '../../unit/x509/request-factory.ts';
import { type SimulatedApiServerOptions, startSimulatedApiServer } from '../api-server.ts';
import { authenticated } from '../authorization.ts';
import { grantedRules, rulesOf } from '../demo-cluster.ts';
import { kubernetesTime } from '../kube-object.ts';
import { kubeconfigOf } from '../kubeconfig.ts';
import type { Ground, HubKubeconfigCluster } from './clusters.ts';
import { HUB } from './places.ts';

const BOOTSTRAPPER = 'system:bootstrap:abcdef';

/** A cluster that manages itself and slept: three control plane Nodes, of which cp-3 is awake, and a worker. */
export interface AsleepCluster extends Pick<HubKubeconfigCluster, 'name' | 'server' | 'secret'> {
  /** cp-3 shows that it is awake. */
  readonly awake: () => void;
  /** The kubelet of a node asks with a bootstrap token. */
  ask(node: string, name: string): void;
}

export async function startAsleepCluster(
  { aws, clock }: Ground,
  name: string,
  certificate: Pick<SimulatedApiServerOptions, 'certificateNotBefore' | 'certificateNotAfter'> = {},
): Promise<AsleepCluster> {
  const rules = rulesOf(rbacManifests({ recovery: true }, [DEFAULT_POLICY]));
  const server = await startSimulatedApiServer({
    clock,
    name,
    users: [
      { name: 'certmarshal', groups: ['certmarshal'], rules: [...grantedRules(), ...rules] },
      {
        name: BOOTSTRAPPER,
        rules: [{ apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['create'] }],
      },
    ],
    ...certificate,
  });
  const { api } = server;
  const made = (object: string, namespace?: string) => ({
    name: object,
    uid: `uid-${object}`,
    creationTimestamp: kubernetesTime(clock.now()),
    ...(namespace === undefined ? {} : { namespace }),
  });
  for (const node of ['cp-1', 'cp-2', 'cp-3', 'worker']) {
    api.nodes.put({ metadata: made(node), status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
    const of = { provider: PROVIDERS['bare metal, 0.26'], name };
    const maker = node === 'worker' ? workerMachine : controlPlaneMachine;
    const machine = maker(of, { name: `${name}-${node}`, address: '10.0.1.31' });
    api.machines?.put({
      ...machine,
      metadata: { ...machine.metadata, ...made(`${name}-${node}`, 'eksa-system') },
      // Whoever listed the hardware chose its name.
      status: { ...machine.status, nodeRef: { name: node } },
    });
  }
  return {
    name,
    server,
    secret: aws.secretsManager.putSecret(HUB, `certmarshal/${name}`, kubeconfigOf(server, 'certmarshal')),
    awake: () =>
      api.leases.put({ metadata: made('cp-3', 'kube-node-lease'), spec: { renewTime: microTime(clock.now()) } }),
    ask(node, request) {
      const { status } = api.handle({
        method: 'POST',
        url: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
        user: authenticated(BOOTSTRAPPER, ['system:bootstrappers', ...DEFAULT_BOOTSTRAP_GROUPS]),
        body: JSON.stringify({
          apiVersion: 'certificates.k8s.io/v1',
          kind: 'CertificateSigningRequest',
          metadata: { name: request },
          spec: {
            request: makeRequest({ commonName: `system:node:${node}`, sans: [] }).pem.toString('base64'),
            signerName: KUBELET_CLIENT_SIGNER,
            usages: ['digital signature', 'client auth'],
          },
        }),
      });
      if (status !== 201) throw new Error(`the request of ${node} was refused with ${status}`);
    },
  };
}
