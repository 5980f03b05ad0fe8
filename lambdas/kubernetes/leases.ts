import type { JsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { describeCall } from './describe-call.ts';
import { KubernetesError } from './errors.ts';
import { mergePatch } from './merge-patch.ts';
import { ROLLOUTS } from './missing-right.ts';
import { namespacePath } from './namespace-path.ts';

/** One Lease of `coordination.k8s.io/v1`. */
export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Reads a Lease; undefined if it does not exist.
 *
 * @throws KubernetesError
 */
export async function getLease(
  client: KubernetesClient,
  { signal, ...lease }: LeaseName & { readonly signal: AbortSignal },
): Promise<JsonObject | undefined> {
  try {
    return await client.request({ method: 'GET', path: pathOf(client, lease), right: ROLLOUTS, signal });
  } catch (error) {
    if (error instanceof KubernetesError && error.kind === 'not-found') return undefined;
    throw error;
  }
}

/**
 * Creates a Lease.
 *
 * @param spec of `LeaseSpec`; its times are {@link microTime}s
 * @throws KubernetesError; `conflict` if it exists by now
 */
export async function createLease(
  client: KubernetesClient,
  {
    namespace,
    name,
    spec,
    fieldManager,
    signal,
  }: LeaseName & { readonly spec: JsonObject; readonly fieldManager: string; readonly signal: AbortSignal },
): Promise<JsonObject> {
  const path = collectionOf(client, namespace);
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec };
  return client.request({
    method: 'POST',
    path,
    right: ROLLOUTS,
    query: { fieldManager, fieldValidation: 'Strict' },
    body,
    signal,
  });
}

/**
 * Writes fields of a Lease unless it changed since it was read.
 *
 * @throws KubernetesError; `conflict` if it changed
 */
export async function patchLease(
  client: KubernetesClient,
  {
    namespace,
    name,
    uid,
    resourceVersion,
    spec,
    fieldManager,
    signal,
  }: LeaseName & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly spec: JsonObject;
    readonly fieldManager: string;
    readonly signal: AbortSignal;
  },
): Promise<JsonObject> {
  const path = pathOf(client, { namespace, name });
  const body = { metadata: { uid, resourceVersion }, spec };
  return mergePatch(client, { path, right: ROLLOUTS, body, fieldManager, dryRun: false, signal });
}

/**
 * A `MicroTime`: RFC 3339 with exactly six fractional digits, which the API requires.
 *
 * @param at milliseconds since the epoch
 */
export function microTime(at: number): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}

function pathOf(client: KubernetesClient, { namespace, name }: LeaseName): string {
  return `${collectionOf(client, namespace)}/${encodeURIComponent(name)}`;
}

function collectionOf(client: KubernetesClient, namespace: string): string {
  const collection = '/apis/coordination.k8s.io/v1';
  const object = describeCall('GET', `${collection}/leases`, client.server);
  return `${collection}/${namespacePath(namespace, object)}/leases`;
}
