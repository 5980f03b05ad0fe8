import { parseAllDocuments, stringify } from 'yaml';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import type { SweepTarget } from '../../lambdas/approval/observe.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import type { Provider } from '../../lambdas/identifiers.ts';
import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadSecretKubeconfig } from '../../lambdas/kubernetes/secret-kubeconfig.ts';
import {
  capiCluster,
  controlPlaneMachine,
  healthCheck,
  kubeadmControlPlane,
  workerMachine,
} from '../providers/objects.ts';
import { EVERYWHERE, PROVIDERS } from '../providers/table.ts';
import { MACHINE_CONDITIONS, rawCondition, V1BETA2_CONDITIONS } from '../unit/rollout/fixtures.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from './api-server.ts';
import type { PolicyRule } from './authorization.ts';
import type { Clock } from './clock.ts';
import { kubernetesTime } from './kube-object.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { type Kubelet, type SimulatedNode, startKubelet } from './kubelet.ts';
import { type Random, seededRandom } from './random.ts';
import type { ServingNames } from './serving-request.ts';
import { type Signer, startSigner } from './signer.ts';

/** A cluster of the demo: an API server over TLS, a signer, kubelets, and certmarshal's own view of it. */
export interface DemoCluster {
  readonly name: string;
  readonly server: SimulatedApiServer;
  readonly target: SweepTarget;
  readonly kubelets: readonly Kubelet[];
  /** When it was made, with its certificates. Milliseconds since the epoch. */
  readonly madeAt: number;
  /** Starts a kubelet that asks for its own names, or for those it is told to. */
  start(node: SimulatedNode, asksFor?: ServingNames): void;
  stop(): Promise<void>;
}

export interface DemoClusterOptions {
  readonly name: string;
  readonly provider: Provider;
  readonly clock: Clock;
  readonly certificateNotAfter?: Date;
  /** EC2 instances as DescribeInstances lists them. */
  readonly instances?: readonly object[];
}

export async function startDemoCluster(options: DemoClusterOptions): Promise<DemoCluster> {
  const { name, provider, clock, instances } = options;
  const { certificateNotAfter = new Date(Date.now() + 200 * 86_400_000) } = options;
  // A year, as kubeadm and EKS issue it.
  const certificateNotBefore = new Date(certificateNotAfter.getTime() - 365 * 86_400_000);
  // Later than that: what an audit infers from this then expires after the certificate that it reads, which it names first.
  const madeAt = certificateNotBefore.getTime() + 1000;
  const random = seededRandom(name.length);
  const rules = [...grantedRules(), ...rulesOf(rbacManifests({ recovery: true }, [DEFAULT_POLICY]))];
  const server = await startSimulatedApiServer({
    clock,
    name,
    random,
    users: [{ name: 'certmarshal', groups: ['certmarshal'], rules }],
    controlPlanes: provider === 'eks-anywhere',
    certificateNotAfter,
    certificateNotBefore,
  });
  const signer: Signer = await startSigner({ api: server.api, durationMs: 45 * 86_400_000, madeAt });
  const client = createKubernetesClient({
    ...loadSecretKubeconfig(kubeconfigOf(server, 'certmarshal')),
    addresses: 'local',
  });
  const trust = (configMap: string, data: Readonly<Record<string, string>>) =>
    server.api.audited('configMaps').put({
      metadata: {
        name: configMap,
        namespace: 'kube-system',
        uid: configMap,
        creationTimestamp: kubernetesTime(madeAt),
      },
      data,
    });
  trust('kube-root-ca.crt', { 'ca.crt': server.caPem });
  trust('extension-apiserver-authentication', {
    'client-ca-file': signer.caPem,
    'requestheader-client-ca-file': server.caPem,
  });
  const kubelets: Kubelet[] = [];
  return {
    name,
    server,
    kubelets,
    madeAt,
    target: {
      cluster: { name, provider },
      workload: client,
      machinesNamespace: 'eksa-system',
      management: provider === 'eks-anywhere' ? client : undefined,
      ...(instances === undefined
        ? {}
        : {
            async *listInstances() {
              yield instances;
            },
          }),
    },
    start(node, asksFor) {
      kubelets.push(startKubelet({ api: server.api, node, random: jitter(random), asksFor }));
    },
    async stop() {
      await Promise.all(kubelets.map((kubelet) => kubelet.stop()));
      await signer.stop();
      client.close();
      await server.stop();
    },
  };
}

/** One kubeconfig with a context for each cluster, whose user is certmarshal. */
export function kubeconfigOfAll(clusters: readonly DemoCluster[]): string {
  const named = (value: (cluster: DemoCluster) => object) =>
    clusters.map((cluster) => ({ name: cluster.name, ...value(cluster) }));
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: named(({ server: { server, caPem } }) => ({
      cluster: { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') },
    })),
    users: named(({ server }) => ({ user: { token: server.tokenFor('certmarshal') } })),
    contexts: named(({ name }) => ({ context: { cluster: name, user: name } })),
    'current-context': clusters[0]?.name,
  });
}

/** What `certmarshal rbac` grants is what the demo's certmarshal may do. */
export function grantedRules(policies: readonly ApprovalPolicy[] = [DEFAULT_POLICY]): readonly PolicyRule[] {
  return [{}, { management: true, rollouts: true }].flatMap((options) => rulesOf(rbacManifests(options, policies)));
}

/** The rules of manifests that `certmarshal rbac` prints. */
export function rulesOf(manifests: string): readonly PolicyRule[] {
  return parseAllDocuments(manifests).flatMap((document): readonly PolicyRule[] => document.toJS().rules ?? []);
}

function jitter(random: Random): Random {
  return seededRandom(Math.floor(random() * 2 ** 31));
}

/** Adds the first machine of a control plane, and what makes and watches it: as old as its certificates. */
export function addControlPlane(cluster: DemoCluster, node: SimulatedNode): void {
  const { name, server, madeAt } = cluster;
  const of = { provider: PROVIDERS['Nutanix, 0.26'], name };
  const creationTimestamp = kubernetesTime(madeAt);
  const uid = `control-plane-${name}`;
  const replicas = { replicas: 1, readyReplicas: 1, upToDateReplicas: 1, availableReplicas: 1 };
  const made = kubeadmControlPlane(of);
  server.api.audited('kubeadmControlPlanes').put({
    ...made,
    metadata: { ...made.metadata, uid, generation: 1, creationTimestamp },
    spec: { ...made.spec, replicas: 1, version: 'v1.36.3' },
    status: { observedGeneration: 1, ...replicas, conditions: V1BETA2_CONDITIONS },
  });
  const check = healthCheck(of);
  server.api.audited('machineHealthChecks').put({
    ...check,
    metadata: { ...check.metadata, uid: `check-${name}`, creationTimestamp },
    status: { expectedMachines: 1, currentHealthy: 1 },
  });
  const template = { namespace: made.metadata.namespace, name: EVERYWHERE.firstTemplate.value(name) };
  server.api.audited('machineTemplates').put({ metadata: { ...template, uid: `template-${name}`, creationTimestamp } });
  const conditions = MACHINE_CONDITIONS.v1beta2.map((type) => rawCondition(type, 'True'));
  addMachine(cluster, node, {
    madeAt,
    machineOf(...machine) {
      const plain = controlPlaneMachine(...machine, uid);
      return { ...plain, status: { ...plain.status, conditions } };
    },
  });
}

/**
 * Adds a Node and its Machine, as the kubelet and Cluster API would show them.
 *
 * @param madeAt milliseconds since the epoch. @default now
 */
export function addMachine(
  { name: cluster, server }: Pick<DemoCluster, 'name' | 'server'>,
  node: SimulatedNode,
  { madeAt = server.api.clock.now(), machineOf = workerMachine } = {},
): void {
  const creationTimestamp = kubernetesTime(madeAt);
  const of = { provider: PROVIDERS['Nutanix, 0.26'], name: cluster };
  // Cluster API has no Machine without its Cluster.
  if (server.api.clusters?.get(`eksa-system/${cluster}`) === undefined) {
    const made = capiCluster(of);
    server.api.clusters?.put({ ...made, metadata: { ...made.metadata, uid: `cluster-${cluster}`, creationTimestamp } });
  }
  // One for each of its networks.
  const addresses = [
    ...node.ipAddresses.map((address) => ({ type: 'InternalIP', address })),
    ...node.dnsNames.map((address) => ({ type: 'Hostname', address })),
  ];
  server.api.nodes.put({
    metadata: { name: node.name, uid: `node-${node.name}`, creationTimestamp },
    status: { addresses, conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const name = `${cluster}-${node.name}`;
  const made = machineOf(of, { name, address: '' });
  server.api.machines?.put({
    ...made,
    metadata: { ...made.metadata, uid: `machine-${name}`, creationTimestamp },
    status: { ...made.status, nodeRef: { name: node.name }, addresses },
  });
}
