import type { KubernetesClient } from './client.ts';
import { listPages } from './paging.ts';

/**
 * The Certificates of cert-manager in all namespaces, page by page. Source: cert-manager.io/v1.
 *
 * @throws KubernetesError; `not-found` when the server does not serve cert-manager
 */
export function listCertManagerCertificates(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  return listPages(client, { path: '/apis/cert-manager.io/v1/certificates', signal });
}
