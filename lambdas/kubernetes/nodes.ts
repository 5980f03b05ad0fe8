import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/** A Node lists up to 50 images with all their names: 20 to 30 KB each are ordinary. */
const NODES_A_PAGE = 200;

/** The Nodes of a cluster, page by page. */
export function listNodes(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  return listPages(client, { path: '/api/v1/nodes', signal, limit: NODES_A_PAGE });
}
