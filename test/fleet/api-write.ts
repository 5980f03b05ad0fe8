import { isDeepStrictEqual } from 'node:util';
import { type ApiError, badRequest, conflict, internal, invalid, notFound } from './api-error.ts';
import type { NamedTarget, Target } from './api-path.ts';
import { apiVersionOf } from './api-response.ts';
import type { KubeObject } from './kube-object.ts';
import { keyOf, type ObjectStore } from './object-store.ts';
import type { Body, Content, Resource } from './resources.ts';

export function decodeBody(resource: Resource, version: string, text = ''): Body {
  const { kind } = resource;
  let body: (Body & { readonly apiVersion?: unknown; readonly kind?: unknown }) | null;
  try {
    body = JSON.parse(text);
  } catch {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error`,
    );
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind`);
  }
  const apiVersion = apiVersionOf(resource, version);
  if ((body.apiVersion ?? apiVersion) !== apiVersion || (body.kind ?? kind) !== kind) {
    throw badRequest(`${String(body.kind)} in version ${String(body.apiVersion)} cannot be handled as a ${kind}`);
  }
  return body;
}

export function namespaceOf(resource: Resource, { namespace }: Target, { metadata }: Body): { namespace?: string } {
  if (!resource.namespaced || namespace === undefined) return {};
  if ((metadata?.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return { namespace };
}

export function existing(
  store: ObjectStore<KubeObject>,
  resource: Resource,
  { namespace, name }: NamedTarget,
): KubeObject {
  const object = store.get(keyOf({ metadata: { name, namespace } }));
  if (object === undefined) throw notFound(resource, name);
  return object;
}

/** Optimistic concurrency: the uid and the resourceVersion that a writer saw, as far as it names them. */
export function requireSameObject(
  resource: Resource,
  { metadata: { name, uid, resourceVersion } }: KubeObject,
  seen: { readonly uid?: string; readonly resourceVersion?: string },
): void {
  if (seen.uid && seen.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${seen.uid}, UID in object meta: ${uid}`;
    throw conflict(resource, name, why);
  }
  if (!seen.resourceVersion) {
    if (!resource.custom) return;
    const message = 'Invalid value: 0: must be specified for an update';
    throw invalid(resource, name, [{ reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message }]);
  }
  if (!/^\d+$/.test(seen.resourceVersion)) {
    throw internal(`strconv.ParseUint: parsing "${seen.resourceVersion}": invalid syntax`);
  }
  if (seen.resourceVersion !== resourceVersion) {
    const why = 'the object has been modified; please apply your changes to the latest version and try again';
    throw conflict(resource, name, why);
  }
}

/** Stores what changed. What is deleting and has lost its last finalizer goes; what is the same keeps its version. */
export function replace(
  { custom }: Resource,
  store: ObjectStore<KubeObject>,
  old: KubeObject,
  content: Content,
): KubeObject {
  const { name, namespace, uid, resourceVersion, generation = 1, creationTimestamp, ...others } = old.metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds } = others;
  const { generateName, labels, annotations, ownerReferences, finalizers } = content.metadata;
  const next: KubeObject = withoutUndefined({
    metadata: withoutUndefined({
      name,
      generateName,
      namespace,
      uid,
      resourceVersion,
      generation: custom ? generation + (isDeepStrictEqual(old.spec, content.spec) ? 0 : 1) : undefined,
      creationTimestamp,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      labels,
      annotations,
      ownerReferences,
      finalizers,
    }),
    spec: content.spec,
    status: content.status,
  });
  if (deletionTimestamp !== undefined && (finalizers ?? []).length === 0) {
    store.remove(keyOf(old));
    return next;
  }
  return isDeepStrictEqual(old, next) ? old : store.put(next);
}

function withoutUndefined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- exactly the entries that are undefined are gone
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}

export function nameRequired(resource: Resource): ApiError {
  const message = 'Required value: name or generateName is required';
  return invalid(resource, '', [{ reason: 'FieldValueRequired', field: 'metadata.name', message }]);
}
