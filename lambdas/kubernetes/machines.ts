import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { listKind } from './list.ts';

/**
 * Cluster API objects of one cluster: they are in the namespace of its Cluster; objects in other namespaces only claim
 * to belong to it.
 */
export interface MachineSelection {
  /** Value of the label `cluster.x-k8s.io/cluster-name`. */
  readonly clusterName: string;
  /** Namespace of the Cluster. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/**
 * The Cluster API Machines of one cluster, from its management cluster, page by page. Every cluster has Machines:
 * without any, its Cluster is elsewhere.
 *
 * @throws KubernetesError; `not-found` if the server does not serve Cluster API, `invalid` if the namespace has no
 * Machine of the cluster
 */
export async function* listMachines(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  let found = false;
  for await (const page of listKind(client, 'machines', { clusterName, namespace, signal })) {
    found ||= page.length > 0;
    yield page;
  }
  if (found) return;
  throw new KubernetesError({
    kind: 'invalid',
    object: `list machines on ${client.server}`,
    problem: `namespace ${namespace} has no Machine of cluster ${clusterName}`,
    remedy:
      'Write name and namespace of its Cluster at its entry in fleet.yaml, or with --cluster and --namespace on the command line: kubectl get clusters.cluster.x-k8s.io -A lists both.',
  });
}
