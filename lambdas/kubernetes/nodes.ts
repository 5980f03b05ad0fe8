import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/** The Nodes of a cluster, page by page. */
export function listNodes(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  return listPages(client, { path: '/api/v1/nodes', signal });
}
