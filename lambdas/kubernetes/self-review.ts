import type { V1SelfSubjectAccessReview, V1SelfSubjectReview } from '@kubernetes/client-node';
import { field, list, raw, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { printable } from './printable.ts';

/** Our identity according to the API server. */
export interface Identity {
  readonly username: string;
  readonly groups: readonly string[];
}

/** One verb on one resource, as RBAC grants it. */
export interface Right {
  readonly verb: string;
  /** API group; empty for core. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: any object. */
  readonly name?: string;
  /** Absent: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string;
}

const MAX_GROUPS = 100;

/**
 * Reads our identity. Every authenticated user may (ClusterRole `system:basic-user`). Source: authentication.k8s.io/v1,
 * SelfSubjectReview (Kubernetes 1.28).
 *
 * @throws KubernetesError; `not-found` before Kubernetes 1.28
 */
export async function reviewSelf(client: KubernetesClient, signal: AbortSignal): Promise<Identity> {
  const answer = await client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    signal,
  });
  const review = raw<V1SelfSubjectReview>(answer);
  const username = text(review, 'status', 'userInfo', 'username');
  if (username === undefined) throw noReview('create selfsubjectreviews', client);
  return {
    username: printable(username),
    groups: list(review, 'status', 'userInfo', 'groups')
      .slice(0, MAX_GROUPS)
      .filter((group) => typeof group === 'string')
      .map((group) => printable(group)),
  };
}

/**
 * Checks whether an action is allowed, without doing it. Source: authorization.k8s.io/v1, SelfSubjectAccessReview.
 *
 * @throws KubernetesError
 */
export async function mayI(client: KubernetesClient, right: Right, signal: AbortSignal): Promise<boolean> {
  const answer = await client.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: right },
    },
    signal,
  });
  const allowed = field(raw<V1SelfSubjectAccessReview>(answer), 'status', 'allowed');
  if (typeof allowed !== 'boolean') throw noReview('create selfsubjectaccessreviews', client);
  return allowed;
}

function noReview(call: string, { server }: KubernetesClient): KubernetesError {
  return new KubernetesError({
    kind: 'not-kubernetes',
    object: `${call} on ${server}`,
    problem: 'the answer is JSON but not a review',
    remedy: 'Check that the server is an API server.',
  });
}
