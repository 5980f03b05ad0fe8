import type { JsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import type { ClusterApiVersion } from './cluster-api.ts';
import type { Right } from './missing-right.ts';
import { namespacePath } from './namespace-path.ts';

export interface MergePatch {
  readonly path: string;
  readonly right: Right;
  /**
   * Contains `metadata.uid` and `metadata.resourceVersion` as read: the server answers with a conflict for another or a
   * newer object.
   */
  readonly body: JsonObject;
  readonly fieldManager: string;
  /** Runs validation and admission, webhooks included, and stores nothing. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Writes some fields of an object. Unknown fields are an error instead of being dropped silently.
 *
 * @returns the object after the write, or as a dry run would leave it
 * @throws KubernetesError; `conflict` if it is no longer the object that was read
 */
export async function mergePatch(
  client: KubernetesClient,
  { path, right, body, fieldManager, dryRun, signal }: MergePatch,
): Promise<JsonObject> {
  const query = { fieldManager, fieldValidation: 'Strict', ...(dryRun ? { dryRun: 'All' } : {}) };
  return client.request({ method: 'PATCH', path, right, query, body, signal });
}

/**
 * Writes some fields of one KubeadmControlPlane.
 *
 * @throws KubernetesError as {@link mergePatch}
 */
export async function patchKubeadmControlPlane(
  client: KubernetesClient,
  { apiVersion, ...patch }: NamedPatch & { readonly apiVersion: ClusterApiVersion },
): Promise<JsonObject> {
  return patchIn(client, `/apis/controlplane.cluster.x-k8s.io/${apiVersion}`, 'kubeadmcontrolplanes', patch);
}

/**
 * Writes some fields of one EtcdadmCluster.
 *
 * @throws KubernetesError as {@link mergePatch}
 */
export async function patchEtcdadmCluster(client: KubernetesClient, patch: NamedPatch): Promise<JsonObject> {
  return patchIn(
    client,
    '/apis/etcdcluster.cluster.x-k8s.io/v1beta1',
    'etcdadmclusters',
    patch,
    `${patch.name.replace(/-etcd$/, '')} --rollout-etcd`,
  );
}

type NamedPatch = Omit<MergePatch, 'path' | 'right'> & { readonly namespace: string; readonly name: string };

async function patchIn(
  client: KubernetesClient,
  api: string,
  plural: string,
  { namespace, name, ...patch }: NamedPatch,
  rolls = name,
): Promise<JsonObject> {
  const parent = namespacePath(namespace, `patch ${plural} on ${client.server}`);
  const path = `${api}/${parent}/${plural}/${encodeURIComponent(name)}`;
  const right = { own: ` --management --rollouts --rollout-of ${namespace}/${rolls}` };
  return mergePatch(client, { path, right, ...patch });
}
