import type { KubernetesClient } from './client.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/**
 * The Pods of one namespace.
 *
 * @throws KubernetesError
 */
export async function* listPods(
  client: KubernetesClient,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const path = `/api/v1/${namespacePath(namespace, `list pods on ${client.server}`)}/pods`;
  yield* listPages(client, { path, signal });
}
