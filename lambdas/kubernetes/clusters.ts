import type { KubernetesClient } from './client.ts';
import { clusterApiPath, requireClusterName } from './cluster-api.ts';
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
  { clusterName, namespace, signal }: Omit<MachineSelection, 'namespace'> & { readonly namespace?: string | undefined },
): AsyncGenerator<readonly unknown[]> {
  const object = `list clusters on ${client.server}`;
  requireClusterName(clusterName, object);
  const clusters = namespace === undefined ? 'clusters' : `${namespacePath(namespace, object)}/clusters`;
  const path = `${await clusterApiPath(client, signal)}/${clusters}`;
  yield* listPages(client, { path, fieldSelector: `metadata.name=${clusterName}`, signal });
}
