import type { KubernetesClient } from './client.ts';
import { clusterApiPath } from './cluster-api.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/**
 * The MachineHealthChecks of one namespace, of all its clusters: `spec.clusterName` tells of which.
 *
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API
 */
export async function* listMachineHealthChecks(
  client: KubernetesClient,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const plural = `${namespacePath(namespace, `list machinehealthchecks on ${client.server}`)}/machinehealthchecks`;
  yield* listPages(client, { path: `${await clusterApiPath(client, signal)}/${plural}`, signal });
}
