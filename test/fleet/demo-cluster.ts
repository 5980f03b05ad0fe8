import { parseAllDocuments } from 'yaml';
import { rbacManifests } from '../../bin/commands/rbac.ts';
import type { SweepTarget } from '../../lambdas/approval/observe.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import type { Provider } from '../../lambdas/identifiers.ts';
import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadKubeconfig } from '../../lambdas/kubernetes/kubeconfig.ts';
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
  const { name, provider, clock, certificateNotAfter, instances } = options;
  const random = seededRandom(name.length);
  const rules = grantedRules();
  const server = await startSimulatedApiServer({
    clock,
    name,
    random,
    users: [{ name: 'certmarshal', groups: ['certmarshal'], rules }],
    certificateNotAfter: certificateNotAfter ?? new Date(Date.now() + 200 * 86_400_000),
  });
  const signer: Signer = await startSigner({ api: server.api, durationMs: 45 * 86_400_000 });
  const client = createKubernetesClient({
    ...(await loadKubeconfig(kubeconfigOf(server, 'certmarshal'), { origin: 'secret' })),
    addresses: 'local',
  });
  const trust = (configMap: string, data: Readonly<Record<string, string>>) =>
    server.api.audited('configMaps').put({
      metadata: {
        name: configMap,
        namespace: 'kube-system',
        uid: configMap,
        creationTimestamp: kubernetesTime(clock.now()),
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

/** What `certmarshal rbac` grants is what the demo's certmarshal may do. */
export function grantedRules(policies: readonly ApprovalPolicy[] = [DEFAULT_POLICY]): readonly PolicyRule[] {
  const manifests = [rbacManifests({}, policies), rbacManifests({ management: true }, policies)];
  return manifests
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()))
    .flatMap((object: { kind: string; rules?: PolicyRule[] }) => object.rules ?? []);
}

function jitter(random: Random): Random {
  return seededRandom(Math.floor(random() * 2 ** 31));
}

/** Adds the Machine of a node, as Cluster API would show it. */
export function addMachine({ name: cluster, server }: Pick<DemoCluster, 'name' | 'server'>, node: SimulatedNode): void {
  const now = kubernetesTime(server.api.clock.now());
  // Cluster API has no Machine without its Cluster.
  if (server.api.clusters?.get(`eksa-system/${cluster}`) === undefined)
    server.api.clusters?.put({
      metadata: { name: cluster, namespace: 'eksa-system', uid: `cluster-${cluster}`, creationTimestamp: now },
      spec: { clusterNetwork: { services: { cidrBlocks: ['10.96.0.0/12'] } } },
    });
  server.api.machines?.put({
    metadata: {
      name: `${cluster}-${node.name}`,
      namespace: 'eksa-system',
      uid: `machine-${cluster}-${node.name}`,
      creationTimestamp: now,
      labels: { 'cluster.x-k8s.io/cluster-name': cluster },
    },
    spec: { clusterName: cluster },
    status: {
      phase: 'Running',
      nodeRef: { name: node.name },
      addresses: [
        ...node.ipAddresses.map((address) => ({ type: 'InternalIP', address })),
        ...node.dnsNames.map((address) => ({ type: 'InternalDNS', address })),
      ],
    },
  });
}
