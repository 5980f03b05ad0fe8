import type { KubernetesClient } from './client.ts';
import { clusterApiPath, clusterSelector } from './cluster-api.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** Objects of Cluster API that belong to one cluster. */
export interface MachineSelection {
  /** Value of the label `cluster.x-k8s.io/cluster-name`. */
  readonly clusterName: string;
  /** @default all namespaces */
  readonly namespace?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * The Cluster API Machines of one cluster, from its management cluster, page by page.
 *
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API.
 */
export async function* listMachines(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  const object = `list machines on ${client.server}`;
  const labelSelector = clusterSelector(clusterName, object);
  const machines = namespace === undefined ? 'machines' : `${namespacePath(namespace, object)}/machines`;
  yield* listPages(client, { path: `${await clusterApiPath(client, signal)}/${machines}`, labelSelector, signal });
}
