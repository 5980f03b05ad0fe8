import { type FieldProblem, invalid, type Named } from './api-error.ts';
import type { PolicyRule, User } from './authorization.ts';
import type { KubeObject, StoredMetadata } from './kube-object.ts';

/** JSON as it came in, with at least an object at the top. */
// oxlint-disable-next-line typescript/no-explicit-any -- each resource's rules check what they take from it
export type Body = { readonly metadata?: any; readonly spec?: any; readonly status?: any };

/** Who writes, and when. */
export interface Writer {
  readonly user: User;
  readonly rules: readonly PolicyRule[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What a write may set of an object; the server sets the rest. */
export interface Content {
  readonly metadata: WrittenMetadata;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export type WrittenMetadata = Pick<
  StoredMetadata,
  'generateName' | 'labels' | 'annotations' | 'ownerReferences' | 'finalizers'
>;

/** The rules of one resource. */
export interface Resource<T extends KubeObject = KubeObject> extends Named {
  /** Served versions, the preferred one first. */
  readonly versions: readonly string[];
  readonly namespaced: boolean;
  /** Subresources that take PUT. */
  readonly subresources: readonly string[];
  /** Defined by a CustomResourceDefinition: updates need a resourceVersion, list items name their kind. */
  readonly custom: boolean;
  /** Fields that `fieldSelector` takes. */
  readonly fields: readonly string[];
  /** @throws ApiError when the object is not valid or not admitted. `name` may still end in nothing but its prefix. */
  create(body: Body, name: string, writer: Writer): Content;
  /** @param subresource undefined for the object itself. @throws ApiError as above. */
  update(old: T, body: Body, subresource: string | undefined, writer: Writer): Content;
}

/** The metadata that a writer sets. Everything else in the body is ignored, as upstream. */
export function metadataOf({ metadata = {} }: Body): WrittenMetadata {
  const { generateName, labels, annotations, ownerReferences, finalizers } = metadata;
  const written = { generateName, labels, annotations, ownerReferences, finalizers };
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined && value !== null));
}

/** core/v1 nodes. */
export const nodes: Resource = {
  group: '',
  versions: ['v1'],
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
  subresources: ['status'],
  custom: false,
  fields: ['metadata.name'],
  create: (body) => ({ metadata: metadataOf(body), spec: body.spec ?? {}, status: body.status ?? {} }),
  update: (old, body, subresource) => ({
    metadata: metadataOf(body),
    spec: subresource === 'status' ? old.spec : (body.spec ?? {}),
    status: subresource === 'status' ? (body.status ?? {}) : old.status,
  }),
};

/** coordination.k8s.io/v1 leases. */
export const leases: Resource = {
  group: 'coordination.k8s.io',
  versions: ['v1'],
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
  subresources: [],
  custom: false,
  fields: ['metadata.name', 'metadata.namespace'],
  create: (body) => ({ metadata: metadataOf(body), spec: body.spec ?? {} }),
  update: (_old, body) => ({ metadata: metadataOf(body), spec: body.spec ?? {} }),
};

/**
 * Cluster API Machines. Both versions show one shape, which takes either version's fields.
 *
 * @param versions served versions, the preferred one first.
 */
export function machines(versions: readonly string[]): Resource {
  const resource: Resource = {
    group: 'cluster.x-k8s.io',
    versions,
    plural: 'machines',
    kind: 'Machine',
    namespaced: true,
    subresources: ['status'],
    custom: true,
    fields: ['metadata.name', 'metadata.namespace'],
    create(body, name) {
      requireClusterName(body, name);
      return { metadata: metadataOf(body), spec: body.spec };
    },
    update(old, body, subresource) {
      requireClusterName(body, old.metadata.name);
      if (subresource === 'status') return { metadata: old.metadata, spec: old.spec, status: body.status };
      return { metadata: metadataOf(body), spec: body.spec, status: old.status };
    },
  };
  const requireClusterName = ({ spec }: Body, name: string): void => {
    if (typeof spec?.clusterName === 'string' && spec.clusterName !== '') return;
    const problem: FieldProblem = {
      reason: 'FieldValueRequired',
      field: 'spec.clusterName',
      message: 'Required value',
    };
    throw invalid(resource, name, [problem]);
  };
  return resource;
}

/**
 * Cluster API Clusters. They can only be listed: tests put them into the store.
 *
 * @param versions served versions, the preferred one first.
 */
export function clusters(versions: readonly string[]): Resource {
  const onlyListed = (): never => {
    throw new Error('Clusters are not written through the API');
  };
  return {
    group: 'cluster.x-k8s.io',
    versions,
    plural: 'clusters',
    kind: 'Cluster',
    namespaced: true,
    subresources: [],
    custom: true,
    fields: ['metadata.name', 'metadata.namespace'],
    create: onlyListed,
    update: onlyListed,
  };
}
