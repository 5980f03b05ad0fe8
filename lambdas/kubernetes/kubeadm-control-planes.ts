import type { KubernetesClient } from './client.ts';
import { clusterApiPath, clusterSelector } from './cluster-api.ts';
import type { MachineSelection } from './machines.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/**
 * The KubeadmControlPlane of one cluster, from its management cluster: a list of one, found by the label that the Cluster controller sets, for
 * with a ClusterClass its name is made up.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listKubeadmControlPlanes(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  const object = `list kubeadmcontrolplanes on ${client.server}`;
  const labelSelector = clusterSelector(clusterName, object);
  const plural = 'kubeadmcontrolplanes';
  const planes = namespace === undefined ? plural : `${namespacePath(namespace, object)}/${plural}`;
  const group = await clusterApiPath(client, signal, 'controlplane.cluster.x-k8s.io');
  yield* listPages(client, { path: `${group}/${planes}`, labelSelector, signal });
}
