import type { KubernetesClient } from './client.ts';
import { clusterApiPath } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** A value that a label can have, and so a selector can ask for: nothing in it ends one requirement and starts another. */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

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
  if (!LABEL_VALUE.test(clusterName)) {
    throw new KubernetesError({
      kind: 'invalid',
      object,
      problem: 'the name of the cluster cannot be the value of a label',
      remedy: 'Name the cluster as its Cluster API object is named: kubectl get clusters.cluster.x-k8s.io -A.',
    });
  }
  const machines = namespace === undefined ? 'machines' : `${namespacePath(namespace, object)}/machines`;
  yield* listPages(client, {
    path: `${await clusterApiPath(client, signal)}/${machines}`,
    labelSelector: `cluster.x-k8s.io/cluster-name=${clusterName}`,
    signal,
  });
}
