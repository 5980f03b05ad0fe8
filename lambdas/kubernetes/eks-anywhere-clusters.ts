import type { KubernetesClient } from './client.ts';
import { requireClusterName } from './cluster-api.ts';
import { listPages } from './paging.ts';

/** The only version there is. */
const PATH = '/apis/anywhere.eks.amazonaws.com/v1alpha1/clusters';

/**
 * The Cluster of EKS Anywhere with this name, from its management cluster. It is in a namespace of its user's choice, while its objects of Cluster
 * API are in eksa-system.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listEksAnywhereClusters(
  client: KubernetesClient,
  { clusterName, signal }: { readonly clusterName: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  requireClusterName(
    clusterName,
    `list clusters.anywhere.eks.amazonaws.com on ${client.server}`,
    'clusters.anywhere.eks.amazonaws.com',
  );
  yield* listPages(client, { path: PATH, fieldSelector: `metadata.name=${clusterName}`, signal });
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
  yield* listPages(client, { path: PATH, signal });
}
