import type { KubernetesClient } from './client.ts';
import { requireClusterName } from './cluster-api.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** v1alpha1 is the only version. */
const GROUP = '/apis/anywhere.eks.amazonaws.com/v1alpha1';

/**
 * The Clusters of EKS Anywhere with this name, from their management cluster. Each is in a namespace that its user chose, while its objects of Cluster API are in
 * eksa-system: `ownersCluster` says which one counts.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listEksAnywhereClusters(
  client: KubernetesClient,
  {
    clusterName,
    namespace,
    signal,
  }: { readonly clusterName: string; readonly namespace?: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const object = `list clusters.anywhere.eks.amazonaws.com on ${client.server}`;
  requireClusterName(clusterName, object, 'clusters.anywhere.eks.amazonaws.com');
  const within = namespace === undefined ? '' : `/${namespacePath(namespace, object)}`;
  yield* listPages(client, {
    path: `${GROUP}${within}/clusters`,
    fieldSelector: `metadata.name=${clusterName}`,
    signal,
  });
}

/**
 * The Clusters of EKS Anywhere of a whole management cluster.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listAllEksAnywhereClusters(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  yield* listPages(client, { path: `${GROUP}/clusters`, signal });
}
