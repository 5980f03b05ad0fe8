import type { KubernetesClient } from './client.ts';
import { CLUSTER_NAME, clusterApiPath } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import type { MachineSelection } from './machines.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/**
 * The Clusters of Cluster API with this name, from their management cluster: one in each namespace at most.
 *
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API
 */
export async function* listClusters(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  const object = `list clusters on ${client.server}`;
  if (!CLUSTER_NAME.test(clusterName)) {
    throw new KubernetesError({
      kind: 'invalid',
      object,
      problem: 'no Cluster can have this name',
      remedy: 'kubectl get clusters.cluster.x-k8s.io -A lists the names.',
    });
  }
  const clusters = namespace === undefined ? 'clusters' : `${namespacePath(namespace, object)}/clusters`;
  const path = `${await clusterApiPath(client, signal)}/${clusters}`;
  yield* listPages(client, { path, fieldSelector: `metadata.name=${clusterName}`, signal });
}
