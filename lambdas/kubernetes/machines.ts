import type { KubernetesClient } from './client.ts';
import { clusterApiPath, clusterSelector, etcdSelector } from './cluster-api.ts';
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

/**
 * The Machines that carry a control plane, of all clusters of a management cluster.
 *
 * @throws KubernetesError as {@link listMachines}
 */
export async function* listControlPlaneMachines(
  client: KubernetesClient,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const path = `${await clusterApiPath(client, signal)}/machines`;
  yield* listPages(client, { path, labelSelector: 'cluster.x-k8s.io/control-plane', signal });
}

/**
 * The Machines of an EtcdadmCluster, those that it no longer owns too.
 *
 * @throws KubernetesError as {@link listMachines}
 */
export async function* listEtcdMachines(
  client: KubernetesClient,
  {
    etcdCluster,
    namespace,
    signal,
  }: { readonly etcdCluster: string; readonly namespace: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const object = `list machines on ${client.server}`;
  const labelSelector = etcdSelector(etcdCluster, object);
  const path = `${await clusterApiPath(client, signal)}/${namespacePath(namespace, object)}/machines`;
  yield* listPages(client, { path, labelSelector, signal });
}
