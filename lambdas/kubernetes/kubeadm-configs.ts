import type { KubernetesClient } from './client.ts';
import { clusterApiPath, clusterSelector } from './cluster-api.ts';
import type { MachineSelection } from './machines.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** Those of workers say nothing of certificates, and each can carry many KiB of files. */
const CONTROL_PLANE = 'cluster.x-k8s.io/control-plane';

/**
 * The KubeadmConfigs of the control plane machines of one cluster, from its management cluster, page by page. What they carry for the
 * machine, bootstrap tokens and passwords among it, is for nobody to keep.
 *
 * Source: Cluster API, `ControlPlaneMachineLabels`: the control plane provider labels a KubeadmConfig as it labels its Machine.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listKubeadmConfigs(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  const object = `list kubeadmconfigs on ${client.server}`;
  const labelSelector = `${clusterSelector(clusterName, object)},${CONTROL_PLANE}`;
  const configs = `${namespacePath(namespace, object)}/kubeadmconfigs`;
  const group = await clusterApiPath(client, signal, 'bootstrap.cluster.x-k8s.io');
  yield* listPages(client, { path: `${group}/${configs}`, labelSelector, signal });
}
