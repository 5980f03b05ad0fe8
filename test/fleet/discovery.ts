import { type ApiResponse, json } from './api-response.ts';
import { requireSuperuser, type User } from './authorization.ts';
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
