import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';

/** An object of the API, as in its manifest. */
export interface Manifest extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string } & JsonObject;
}

export type Ensured = 'created' | 'changed' | 'unchanged';

const COLLECTIONS: Readonly<Record<string, (namespace: string) => string>> = {
  ServiceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  Secret: (namespace) => `/api/v1/namespaces/${namespace}/secrets`,
  ClusterRole: () => '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: () => '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: (namespace) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
};

/** Path of one object of the kinds that certmarshal creates. @throws RangeError for any other kind */
export function objectPath(manifest: Manifest): string {
  return `${collectionPath(manifest)}/${encodeURIComponent(manifest.metadata.name)}`;
}

/**
 * Creates an object, or writes the fields of its manifest to the existing one. Other fields stay, and nothing is
 * deleted. The write is bound to the object that was read.
 *
 * @param dryRun only reads, and says what would become of it
 * @throws KubernetesError
 */
export async function ensureObject(
  client: KubernetesClient,
  manifest: Manifest,
  signal: AbortSignal,
  dryRun = false,
): Promise<Ensured> {
  const found = await find(client, objectPath(manifest), signal);
  if (found === undefined) {
    if (!dryRun) await client.request({ method: 'POST', path: collectionPath(manifest), body: manifest, signal });
    return 'created';
  }
  const { metadata: wanted, ...fields } = manifest;
  const metadata = isJsonObject(found['metadata']) ? found['metadata'] : {};
  const annotations = { ...objectOf(metadata['annotations']), ...objectOf(wanted['annotations']) };
  const next = {
    ...found,
    ...fields,
    metadata: { ...metadata, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) },
  };
  if (isDeepStrictEqual(next, found)) return 'unchanged';
  if (!dryRun) await client.request({ method: 'PUT', path: objectPath(manifest), body: next, signal });
  return 'changed';
}

async function find(client: KubernetesClient, path: string, signal: AbortSignal): Promise<JsonObject | undefined> {
  try {
    return await client.request({ method: 'GET', path, signal });
  } catch (error) {
    if (error instanceof KubernetesError && error.kind === 'not-found') return undefined;
    throw error;
  }
}

function collectionPath({ kind, metadata }: Manifest): string {
  const path = COLLECTIONS[kind];
  if (path === undefined) throw new RangeError(`certmarshal makes no ${kind}`);
  return path(encodeURIComponent(metadata.namespace ?? 'default'));
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
