import { isJsonObject, type JsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { listPages } from './paging.ts';

/** Clusters with half a million requests that nobody issued have been seen; they are counted page by page. */
const MAX_REQUESTS = 2_000_000;

/** Of all signers nobody judges them, they are only counted: 1 to 2 MB, and half as many round trips. */
const REQUESTS_A_PAGE = 1_000;

const COLLECTION = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** The CertificateSigningRequests of one signer, or of all, page by page; the server selects. */
export function listSigningRequests(
  client: KubernetesClient,
  { signerName, signal }: { readonly signerName?: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  return listPages(client, {
    path: COLLECTION,
    ...(signerName === undefined ? { limit: REQUESTS_A_PAGE } : { fieldSelector: `spec.signerName=${signerName}` }),
    signal,
    maxItems: MAX_REQUESTS,
  });
}

/**
 * One CertificateSigningRequest as it is now.
 *
 * @throws KubernetesError
 */
export async function getSigningRequest(
  client: KubernetesClient,
  name: string,
  signal: AbortSignal,
): Promise<JsonObject> {
  if (!isPathSegment(name)) {
    throw new KubernetesError({
      kind: 'invalid',
      object: `get a certificatesigningrequest on ${client.server}`,
      problem: 'no object can have this name',
      remedy: 'kubectl get csr lists the names.',
    });
  }
  return client.request({ method: 'GET', path: pathOf(name), signal });
}

/**
 * What has to be kept of a request, from the moment it was judged, to write its approval: who exactly it was, and the
 * metadata and conditions that the update would otherwise remove.
 */
export interface ApprovalSubject {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Of labels, annotations, finalizers, ownerReferences and generateName, those that were there. */
  readonly metadata: JsonObject;
  readonly conditions: readonly unknown[];
}

const KEPT_METADATA = ['generateName', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** Kubelets set none of it; ten thousand pending subjects have to fit into a Lambda function's memory. */
const MAX_KEPT_CHARACTERS = 16 * 1024;

/** The deepest of it, an owner reference, is three levels down; JSON.stringify fails some thousands of levels down. */
const MAX_KEPT_DEPTH = 8;

/** A uid has 36 characters, a resourceVersion up to 20; both are opaque. */
const MAX_ID_CHARACTERS = 128;

/** The object as it is now is not needed, only that it was written. */
const MAX_APPROVAL_ANSWER_BYTES = 1024 * 1024;

/**
 * The subject of an approval, or undefined for an object that cannot be written safely: without name, uid or
 * resourceVersion (the API takes a write without them as unconditional), of another shape, or with metadata and
 * conditions to keep that are over 16 Ki characters or nested deeper than any of the API's.
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

/** What is added to `status.conditions`. The server sets the times, so that no clock of ours is in the cluster. */
export interface ApprovalCondition {
  readonly type: 'Approved' | 'Denied';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Adds one condition through the `approval` subresource, bound to the object that was judged: another resourceVersion,
 * or another uid under the same name, is a conflict.
 *
 * The body holds metadata and conditions only. The server takes spec and certificate of this subresource from what is
 * stored (pkg/registry/certificates/certificates/strategy.go, `csrApprovalStrategy.PrepareForUpdate`) and validates
 * after that; it replaces labels, annotations, finalizers and owners by what is sent, so they go back as they were read.
 *
 * @throws KubernetesError; of kind `conflict` when the object was changed or replaced, `not-found` when it is gone.
 */
export async function updateApproval(
  client: KubernetesClient,
  subject: ApprovalSubject,
  condition: ApprovalCondition,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid, resourceVersion, metadata, conditions } = subject;
  await client.request({
    method: 'PUT',
    path: `${pathOf(name)}/approval`,
    body: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { ...metadata, name, uid, resourceVersion },
      status: { conditions: [...conditions, { ...condition, status: 'True' }] },
    },
    signal,
    maxResponseBytes: MAX_APPROVAL_ANSWER_BYTES,
  });
}

function pathOf(name: string): string {
  return `${COLLECTION}/${encodeURIComponent(name)}`;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARACTERS;
}

function isNestedAtMost(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isNestedAtMost(levels - 1, inner));
}

/** The API accepts any name for a request but these (k8s.io/apimachinery/pkg/api/validation/path). */
function isPathSegment(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name) && name.isWellFormed();
}
