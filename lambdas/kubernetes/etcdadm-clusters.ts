import type { KubernetesClient } from './client.ts';
import { requireClusterName } from './cluster-api.ts';
import type { JsonObject } from './json.ts';
import type { MachineSelection } from './machines.ts';
import { type MergePatch, mergePatch } from './merge-patch.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** The only version there is. */
const GROUP_PATH = '/apis/etcdcluster.cluster.x-k8s.io/v1beta1';

/**
 * The EtcdadmCluster of one cluster of EKS Anywhere with external etcd, from its management cluster: `<cluster>-etcd`.
 *
 * Source: etcdadm-controller, api/v1beta1; EKS Anywhere, `EtcdClusterName`.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listEtcdadmClusters(
  client: KubernetesClient,
  { clusterName, namespace, signal }: MachineSelection,
): AsyncGenerator<readonly unknown[]> {
  const object = `list etcdadmclusters on ${client.server}`;
  requireClusterName(clusterName, object);
  const clusters = `${namespacePath(namespace, object)}/etcdadmclusters`;
  const fieldSelector = `metadata.name=${clusterName}-etcd`;
  yield* listPages(client, { path: `${GROUP_PATH}/${clusters}`, fieldSelector, signal });
}

/**
 * Writes some fields of one EtcdadmCluster.
 *
 * @throws KubernetesError as {@link mergePatch}
 */
export async function patchEtcdadmCluster(
  client: KubernetesClient,
  { namespace, name, ...patch }: Omit<MergePatch, 'path'> & { readonly namespace: string; readonly name: string },
): Promise<JsonObject> {
  const parent = namespacePath(namespace, `patch etcdadmclusters on ${client.server}`);
  return mergePatch(client, { path: `${GROUP_PATH}/${parent}/etcdadmclusters/${encodeURIComponent(name)}`, ...patch });
}
