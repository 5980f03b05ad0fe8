import { isJsonObject, type JsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { namespacePath } from './namespace-path.ts';

/** etcd accepts ConfigMaps of 1 MiB; escapes and metadata add to it. */
const MAX_CONFIG_MAP_BYTES = 3 * 1024 * 1024;

/**
 * `data` of one ConfigMap; empty if absent.
 *
 * @throws KubernetesError
 */
export async function readConfigMap(
  client: KubernetesClient,
  { namespace, name, signal }: { readonly namespace: string; readonly name: string; readonly signal: AbortSignal },
): Promise<JsonObject> {
  const object = `get configmaps/${name} in ${namespace} on ${client.server}`;
  const path = `/api/v1/${namespacePath(namespace, object)}/configmaps/${encodeURIComponent(name)}`;
  const answer = await client.request({ method: 'GET', path, signal, maxResponseBytes: MAX_CONFIG_MAP_BYTES });
  return isJsonObject(answer['data']) ? answer['data'] : {};
}
