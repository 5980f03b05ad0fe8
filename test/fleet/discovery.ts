import { type ApiResponse, json } from './api-response.ts';
import { isAllowed, type PolicyRule, type ResourceAttributes, requireSuperuser, type User } from './authorization.ts';
import type { Resource } from './resources.ts';

/** Discovery, version, and everything that is not there. */
export function answerOther(
  { method, user }: { readonly method: string; readonly user: User },
  path: string,
  resources: readonly Resource[],
): ApiResponse {
  if (path === '/version') return json(200, JSON.stringify(VERSION, undefined, 2));
  const group = /^\/apis\/([^/]+)$/.exec(path)?.[1];
  const served = resources.find((resource) => resource.group === group);
  if (group !== undefined) return served === undefined ? PAGE_NOT_FOUND : json(200, apiGroup(served));
  requireSuperuser(user, method.toLowerCase(), path);
  return PAGE_NOT_FOUND;
}

/** What the server says where it serves nothing. */
export const PAGE_NOT_FOUND: ApiResponse = {
  status: 404,
  contentType: 'text/plain; charset=utf-8',
  body: '404 page not found\n',
};

/** Path of a SelfSubjectReview, which is not stored. */
export const SELF_REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** Who asks. Every authenticated user may (ClusterRole `system:basic-user`). Source: authentication.k8s.io/v1, SelfSubjectReview. */
export function selfReview({ name, groups }: User): ApiResponse {
  const review = {
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {},
    status: { userInfo: { username: name, groups } },
  };
  return json(201, JSON.stringify(review));
}

/** Path of a SelfSubjectAccessReview, which is not stored either. */
export const ACCESS_REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** Whether the user who asks may do something, by the same rules. Every authenticated user may ask. Source: authorization.k8s.io/v1, SelfSubjectAccessReview. */
export function accessReview(user: User, rules: readonly PolicyRule[], text = ''): ApiResponse {
  const { spec = {} } = JSON.parse(text) as { readonly spec?: { readonly resourceAttributes?: Attributes } };
  const { group = '', resource = '', verb = '', ...attributes } = spec.resourceAttributes ?? {};
  const wanted = { resource: { group, plural: resource, kind: resource }, verb, ...attributes };
  const review = {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec,
    status: { allowed: isAllowed(user, rules, wanted) },
  };
  return json(201, JSON.stringify(review));
}

/** The `resourceAttributes` of a review. */
interface Attributes extends Omit<Partial<ResourceAttributes>, 'resource'> {
  readonly group?: string;
  readonly resource?: string;
}

const VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.3', platform: 'linux/amd64' };

function apiGroup({ group, versions }: Resource): string {
  const entries = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return JSON.stringify({
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: group,
    versions: entries,
    preferredVersion: entries[0],
  });
}
