import type { KubernetesClient } from './client.ts';
import { type ClusterApiVersion, clusterApiPath, clusterSelector } from './cluster-api.ts';
import type { JsonObject } from './json.ts';
import type { MachineSelection } from './machines.ts';
import { type MergePatch, mergePatch } from './merge-patch.ts';
import { namespacePath } from './namespace-path.ts';
import { listPages } from './paging.ts';

const GROUP = 'controlplane.cluster.x-k8s.io';

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
  const planes = `${namespacePath(namespace, object)}/kubeadmcontrolplanes`;
  const group = await clusterApiPath(client, signal, GROUP);
  yield* listPages(client, { path: `${group}/${planes}`, labelSelector, signal });
}

/**
 * The KubeadmControlPlanes of all clusters of a management cluster, or of a namespace of it.
 *
 * @throws KubernetesError; `not-found` when the server does not serve them
 */
export async function* listAllKubeadmControlPlanes(
  client: KubernetesClient,
  { namespace, signal }: { readonly namespace?: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  const object = `list kubeadmcontrolplanes on ${client.server}`;
  const within = namespace === undefined ? '' : `${namespacePath(namespace, object)}/`;
  const group = await clusterApiPath(client, signal, GROUP);
  yield* listPages(client, { path: `${group}/${within}kubeadmcontrolplanes`, signal });
}

/**
 * Writes some fields of one KubeadmControlPlane.
 *
 * @throws KubernetesError as {@link mergePatch}
 */
export async function patchKubeadmControlPlane(
  client: KubernetesClient,
  {
    apiVersion,
    namespace,
    name,
    ...patch
  }: Omit<MergePatch, 'path'> & {
    readonly apiVersion: ClusterApiVersion;
    readonly namespace: string;
    readonly name: string;
  },
): Promise<JsonObject> {
  const object = `patch kubeadmcontrolplanes on ${client.server}`;
  const path = `/apis/${GROUP}/${apiVersion}/${namespacePath(namespace, object)}/kubeadmcontrolplanes/${encodeURIComponent(name)}`;
  return mergePatch(client, { path, ...patch });
}
