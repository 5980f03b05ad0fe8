import { type ApprovalSubject, isPathSegment } from '../resources/approval-subject.ts';
import type { JsonObject } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { listPages } from './paging.ts';

/** Clusters with half a million unissued requests have been seen; they are counted page by page. */
const MAX_REQUESTS = 2_000_000;

/** Requests of all signers are only counted, not judged: 1 to 2 MB, and half as many round trips. */
const REQUESTS_A_PAGE = 1_000;

/** A kubelet's has under 60; annotations could make thousands, and each would cost time. */
const MAX_MEMBERS = 256;

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
    maxItemMembers: MAX_MEMBERS,
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

/** The returned object is not needed. */
const MAX_APPROVAL_ANSWER_BYTES = 1024 * 1024;

/** A condition for `status.conditions`. The server sets the times, so that the cluster contains none of our clock. */
export interface ApprovalCondition {
  readonly type: 'Approved' | 'Denied';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Adds one condition through the `approval` subresource, bound to the judged object: another resourceVersion, or
 * another uid under the same name, is a conflict.
 *
 * The body has metadata and conditions only. The server keeps its own spec and certificate for this subresource
 * (pkg/registry/certificates/certificates/strategy.go, `csrApprovalStrategy.PrepareForUpdate`) and validates after
 * that; it replaces labels, annotations, finalizers and owners by those sent, so they are sent back as read.
 *
 * @throws KubernetesError; `conflict` if the object was changed or replaced, `not-found` if it is gone
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
