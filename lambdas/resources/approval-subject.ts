import { isJsonObject, type JsonObject } from './fields.ts';

/**
 * The data of a judged request needed to write its approval: its exact identity, and the metadata and conditions that
 * the update would otherwise remove.
 */
export interface ApprovalSubject {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Those present of labels, annotations, finalizers, ownerReferences and generateName. */
  readonly metadata: JsonObject;
  readonly conditions: readonly unknown[];
}

const KEPT_METADATA = ['generateName', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** Kubelets set none of it; ten thousand pending subjects must fit into a Lambda function's memory. */
const MAX_KEPT_CHARACTERS = 16 * 1024;

/** The deepest, an owner reference, has three levels; JSON.stringify fails at some thousands of levels. */
const MAX_KEPT_DEPTH = 8;

/** A uid has 36 characters, a resourceVersion up to 20; both are opaque. */
const MAX_ID_CHARACTERS = 128;

/**
 * The subject of an approval; undefined for an object that cannot be written safely: without name, uid or
 * resourceVersion (the API treats a write without them as unconditional), of another shape, or with metadata and
 * conditions over 16 Ki characters or nested deeper than any of the API's.
 */
export function approvalSubjectOf(item: unknown): ApprovalSubject | undefined {
  if (!isJsonObject(item) || !isJsonObject(item['metadata'])) return undefined;
  const { name, uid, resourceVersion } = item['metadata'];
  if (typeof name !== 'string' || !isPathSegment(name)) return undefined;
  if (!isId(uid)) return undefined;
  if (!isId(resourceVersion)) return undefined;
  const status = item['status'] ?? {};
  if (!isJsonObject(status)) return undefined;
  const conditions = status['conditions'] ?? [];
  if (!Array.isArray(conditions)) return undefined;
  const metadata: Record<string, unknown> = {};
  for (const field of KEPT_METADATA) {
    const value = item['metadata'][field];
    if (value !== undefined && value !== null) metadata[field] = value;
  }
  if (!isNestedAtMost(MAX_KEPT_DEPTH, [metadata, conditions])) return undefined;
  if (JSON.stringify([metadata, conditions]).length > MAX_KEPT_CHARACTERS) return undefined;
  return { name, uid, resourceVersion, metadata, conditions };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARACTERS;
}

function isNestedAtMost(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isNestedAtMost(levels - 1, inner));
}

/** Names that the API rejects for a request (k8s.io/apimachinery/pkg/api/validation/path). */
export function isPathSegment(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name) && name.isWellFormed();
}
