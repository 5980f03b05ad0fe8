import { randomUUID } from 'node:crypto';
import { ApiError, alreadyExists, badRequest, internal, methodNotAllowed } from './api-error.ts';
import { isAddressable, isNamed, type NamedTarget, parseTarget, type Target, verbOf } from './api-path.ts';
import { type ApiResponse, apiVersionOf, json, textOf, typed } from './api-response.ts';
import { decodeBody, existing, nameRequired, namespaceOf, replace, requireSameObject } from './api-write.ts';
import {
  AUDITED_KINDS,
  AUDITED_RESOURCES,
  type AuditedKind,
  type AuditedObject,
  isOfControlPlanes,
} from './audited-resources.ts';
import { type PolicyRule, requireAllowed, type User } from './authorization.ts';
import type { Clock } from './clock.ts';
import { certificateSigningRequests } from './csr-resource.ts';
import { ACCESS_REVIEW, accessReview, answerOther, PAGE_NOT_FOUND, SELF_REVIEW, selfReview } from './discovery.ts';
import { type KubeObject, kubernetesTime, type StoredCsr } from './kube-object.ts';
import { createObjectStore, createRevisions, keyOf, type ObjectStore } from './object-store.ts';
import { createPager, expired, type Pager } from './paging.ts';
import type { Random } from './random.ts';
import { clusters, leases, machines, nodes, type Resource, type Writer } from './resources.ts';
import { fieldSelector, labelSelector, type Matches } from './selectors.ts';

/** A request whose sender is known. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly user: User;
  /** JSON. */
  readonly body?: string;
}

/**
 * The part of kube-apiserver that certmarshal and kubelets use, without a network: authorization, admission, validation
 * and storage. {@link handle} is what a client sees; the stores are what stands behind it, for the components of a
 * control plane and for tests that need objects which no client could create.
 */
export interface SimulatedApi {
  readonly clock: Clock;
  handle(request: ApiRequest): ApiResponse;
  readonly csrs: ObjectStore<StoredCsr>;
  readonly nodes: ObjectStore<KubeObject>;
  readonly leases: ObjectStore<KubeObject>;
  /** Undefined when the cluster serves no Cluster API. */
  readonly machines: ObjectStore<KubeObject> | undefined;
  /** As above. */
  readonly clusters: ObjectStore<KubeObject> | undefined;
  /** What an audit reads beside these. */
  audited(kind: AuditedKind): ObjectStore<AuditedObject>;
}

export interface SimulatedApiOptions {
  readonly clock: Clock;
  /** For the suffixes of generated names. */
  readonly random: Random;
  /** Served versions of Machine, the preferred one first; none: not a management cluster. */
  readonly machineVersions: readonly string[];
  /** Whether it serves what makes and watches control planes: {@link isOfControlPlanes}. */
  readonly controlPlanes: boolean;
  /** The rules that RBAC grants a user. */
  readonly rulesOf: (user: User) => readonly PolicyRule[];
}

export function createSimulatedApi(options: SimulatedApiOptions): SimulatedApi {
  const { clock, random, machineVersions, controlPlanes, rulesOf } = options;
  const revisions = createRevisions();
  const collection = <T extends KubeObject>(resource: Resource<T>): Collection<T> => ({
    resource,
    store: createObjectStore<T>(revisions),
    pager: createPager(() => clock.now()),
  });
  const csrs = collection(certificateSigningRequests);
  const nodeCollection = collection(nodes);
  const leaseCollection = collection(leases);
  const machineCollection = machineVersions.length > 0 ? collection(machines(machineVersions)) : undefined;
  const clusterCollection = machineVersions.length > 0 ? collection(clusters(machineVersions)) : undefined;
  const audited = new Map(AUDITED_KINDS.map((kind) => [kind, collection(AUDITED_RESOURCES[kind])]));
  const collections: Collection[] = [
    csrs,
    nodeCollection,
    leaseCollection,
    ...(machineCollection === undefined ? [] : [machineCollection]),
    ...(clusterCollection === undefined ? [] : [clusterCollection]),
    ...[...audited].flatMap(([kind, one]) => (controlPlanes || !isOfControlPlanes(kind) ? [one] : [])),
  ];
  const resources = collections.map(({ resource }) => resource);

  const list = ({ resource, store, pager }: Collection, target: Target): ApiResponse => {
    const { version, namespace, query } = target;
    const selectors: Matches[] = [];
    const fields = query.get('fieldSelector');
    if (fields) selectors.push(fieldSelector(fields, resource.fields));
    const labels = query.get('labelSelector');
    if (labels) selectors.push(labelSelector(labels));
    if (namespace !== undefined) selectors.push(({ metadata }) => metadata.namespace === namespace);
    const exact = query.get('resourceVersion');
    if (exact !== null && exact !== String(revisions.current())) throw expired('');
    const limit = query.get('limit') ?? '';
    if (!/^\d*$/.test(limit)) throw badRequest(`strconv.ParseInt: parsing "${limit}": invalid syntax`);

    const { items, resourceVersion, remainingItemCount, ...page } = pager.page({
      all: store.all(),
      revision: revisions.current(),
      limit: Number(limit) || Infinity,
      token: query.get('continue') || undefined,
      matches: selectors.length === 0 ? undefined : (object) => selectors.every((matches) => matches(object)),
    });
    const type = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource, version) });
    const metadata = JSON.stringify({ resourceVersion, ...page, remainingItemCount });
    if (query.get('includeObject') === 'None') return json(200, tableOf(items, metadata));
    const texts = items.map((item) => (resource.custom ? typed(resource, version, item) : textOf(item)));
    return json(200, `${type.slice(0, -1)},"metadata":${metadata},"items":[${texts.join(',')}]}`);
  };

  const create = ({ resource, store }: Collection, target: Target, request: ApiRequest): ApiResponse => {
    const body = decodeBody(resource, target.version, request.body);
    const { metadata = {} } = body;
    if (metadata.resourceVersion) throw internal('resourceVersion should not be set on objects to be created');
    const namespace = namespaceOf(resource, target, body);
    const isTaken = (candidate: string): boolean =>
      store.get(keyOf({ metadata: { name: candidate, ...namespace } })) !== undefined;
    const name = metadata.name || generatedName(metadata.generateName, random, isTaken);
    const content = resource.create(body, name, writerOf(request.user));
    if (name === '') throw nameRequired(resource);
    if (isTaken(name)) throw alreadyExists(resource, name);
    const stored = store.put({
      ...content,
      metadata: {
        name,
        ...namespace,
        uid: randomUUID(),
        ...(resource.custom ? { generation: 1 } : {}),
        creationTimestamp: kubernetesTime(clock.now()),
        ...content.metadata,
      },
    });
    return json(201, typed(resource, target.version, stored));
  };

  const update = ({ resource, store }: Collection, target: NamedTarget, request: ApiRequest): ApiResponse => {
    const { name, version, subresource } = target;
    const body = decodeBody(resource, version, request.body);
    const { metadata = {} } = body;
    namespaceOf(resource, target, body);
    if (!metadata.name) {
      throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
    }
    if (metadata.name !== name) {
      throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
    }
    const old = existing(store, resource, target);
    requireSameObject(resource, old, metadata);
    const content = resource.update(old, body, subresource, writerOf(request.user));
    const stored = replace(resource, store, old, content);
    return json(200, typed(resource, version, stored));
  };

  const remove = ({ resource, store }: Collection, target: NamedTarget): ApiResponse => {
    const old = existing(store, resource, target);
    const { name, uid, finalizers = [], deletionTimestamp } = old.metadata;
    if (finalizers.length > 0) {
      const marked = { deletionTimestamp: kubernetesTime(clock.now()), deletionGracePeriodSeconds: 0 };
      const left =
        deletionTimestamp === undefined ? store.put({ ...old, metadata: { ...old.metadata, ...marked } }) : old;
      return json(200, typed(resource, target.version, left));
    }
    store.remove(keyOf(old));
    const details = { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, uid };
    return json(200, JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }));
  };

  const writerOf = (user: User): Writer => ({ user, rules: rulesOf(user), now: clock.now() });

  const respond = (request: ApiRequest): ApiResponse => {
    const { pathname, searchParams } = new URL(request.url, 'https://unused');
    if (pathname === SELF_REVIEW && request.method === 'POST') return selfReview(request.user);
    if (pathname === ACCESS_REVIEW && request.method === 'POST')
      return accessReview(request.user, rulesOf(request.user), request.body);
    const target = parseTarget(pathname, searchParams);
    if (target === undefined) return answerOther(request, pathname, resources);

    const found = collections.find(
      ({ resource }) => resource.group === target.group && resource.plural === target.plural,
    );
    const { name, namespace, subresource } = target;
    const verb = verbOf(request.method, target);
    requireAllowed(request.user, rulesOf(request.user), {
      resource: found?.resource ?? { group: target.group, plural: target.plural, kind: target.plural },
      verb,
      ...(name === undefined ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
      ...(namespace === undefined ? {} : { namespace }),
    });
    const served = found?.resource.versions.includes(target.version) ? found : undefined;
    if (served === undefined || !isAddressable(served.resource, verb, target)) return PAGE_NOT_FOUND;
    if (subresource !== undefined && !served.resource.subresources.includes(subresource)) {
      throw new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
    }
    if (!isNamed(target)) {
      if (verb === 'list') return list(served, target);
      if (verb === 'create') return create(served, target, request);
    } else {
      if (verb === 'get') return get(served, target);
      if (verb === 'update') return update(served, target, request);
      if (verb === 'delete' && subresource === undefined) return remove(served, target);
    }
    throw methodNotAllowed();
  };

  return {
    clock,
    handle(request) {
      try {
        return respond(request);
      } catch (error) {
        if (error instanceof ApiError) return json(error.code, error.body);
        throw error;
      }
    },
    csrs: csrs.store,
    nodes: nodeCollection.store,
    leases: leaseCollection.store,
    machines: machineCollection?.store,
    clusters: clusterCollection?.store,
    audited(kind) {
      const found = audited.get(kind);
      if (found === undefined) throw new Error(`no ${kind} here`);
      return found.store;
    },
  };
}

interface Collection<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly store: ObjectStore<T>;
  readonly pager: Pager;
}

/** The prefix with a random end; tries again as often as upstream when the name is taken (RetryGenerateName). */
function generatedName(prefix: string | undefined, random: Random, isTaken: (name: string) => boolean): string {
  if (!prefix) return '';
  let name = prefix + suffix(random);
  for (let tries = 1; tries < 8 && isTaken(name); tries += 1) name = prefix + suffix(random);
  return name;
}

/** k8s.io/apimachinery/pkg/util/rand: without vowels and what looks like them. */
function suffix(random: Random): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length: 5 }, () => letters[Math.floor(random() * letters.length)]).join('');
}

function get({ resource, store }: Collection, target: NamedTarget): ApiResponse {
  return json(200, typed(resource, target.version, existing(store, resource, target)));
}

/** What kubectl prints, of which only this is read. Source: Kubernetes, `certificateSigningRequestColumnDefinitions`. */
function tableOf(items: readonly (KubeObject & { readonly spec?: unknown })[], metadata: string): string {
  const columns = ['Name', 'SignerName', 'Requestor'].map((name) => ({ name, type: 'string' }));
  const rows = items.map(({ metadata: { name }, spec }) => {
    const { signerName, username } = (spec ?? {}) as StoredCsr['spec'];
    return { cells: [name, signerName, username], object: null };
  });
  return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},"columnDefinitions":${JSON.stringify(columns)},"rows":${JSON.stringify(rows)}}`;
}
