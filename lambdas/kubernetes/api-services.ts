import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/** The APIServices of a cluster, page by page. Source: apiregistration.k8s.io/v1. */
export function listApiServices(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  return listPages(client, { path: '/apis/apiregistration.k8s.io/v1/apiservices', signal });
}
