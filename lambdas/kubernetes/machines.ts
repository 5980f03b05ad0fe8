import type { KubernetesClient } from './client.ts';
import { clusterApiPath, clusterSelector, etcdSelector } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** Objects of Cluster API that belong to one cluster: they are in the namespace of its Cluster, and one in another namespace only says that it does. */
export interface MachineSelection {
  /** Value of the label `cluster.x-k8s.io/cluster-name`. */
  readonly clusterName: string;
  /** Of the Cluster object. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/**
 * The Cluster API Machines of one cluster, from its management cluster, page by page. A cluster has Machines: where there are none, its Cluster is elsewhere.
 *
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API, `invalid` when the namespace has no Machine of the cluster
 */
export async function* listMachines(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  const object = `list machines on ${client.server}`;
  const labelSelector = clusterSelector(clusterName, object);
  const machines = `${namespacePath(namespace, object)}/machines`;
  const path = `${await clusterApiPath(client, signal)}/${machines}`;
  let found = false;
  for await (const page of listPages(client, { path, labelSelector, signal })) {
    found ||= page.length > 0;
    yield page;
  }
  if (found) return;
  throw new KubernetesError({
    kind: 'invalid',
    object,
    problem: `namespace ${namespace} has no Machine of cluster ${clusterName}`,
    remedy:
      'Write name and namespace of its Cluster at its entry in fleet.yaml, or with --cluster and --namespace on the command line: kubectl get clusters.cluster.x-k8s.io -A lists both.',
  });
}

/**
 * The Machines that carry a control plane, of all clusters of a management cluster or of a namespace of it.
 *
 * @throws KubernetesError as {@link listMachines}
 */
export async function* listControlPlaneMachines(
  client: KubernetesClient,
  { namespace, signal }: { readonly namespace?: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const within = namespace === undefined ? '' : `${namespacePath(namespace, `list machines on ${client.server}`)}/`;
  const path = `${await clusterApiPath(client, signal)}/${within}machines`;
  yield* listPages(client, { path, labelSelector: 'cluster.x-k8s.io/control-plane', signal });
}

/**
 * The Machines of an EtcdadmCluster, those that it no longer owns too.
 *
 * @throws KubernetesError as {@link listMachines}
 */
export async function* listEtcdMachines(
  client: KubernetesClient,
  {
    etcdCluster,
    namespace,
    signal,
  }: { readonly etcdCluster: string; readonly namespace: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const object = `list machines on ${client.server}`;
  const labelSelector = etcdSelector(etcdCluster, object);
  const path = `${await clusterApiPath(client, signal)}/${namespacePath(namespace, object)}/machines`;
  yield* listPages(client, { path, labelSelector, signal });
}
