import { ApiError, badRequest, forbidden, type Named, unauthorized } from './api-error.ts';

/** Who sends a request. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A rule of a ClusterRole, field by field. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  /** Subresources as `certificatesigningrequests/approval`. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** @default every name */
  readonly resourceNames?: readonly string[];
}

/** What a request wants to do. */
export interface ResourceAttributes {
  readonly resource: Named;
  readonly verb: string;
  readonly name?: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

/** Nodes, by the node authorizer: of what a kubelet may do, the part that has to do with certificates. */
const NODE_RULES: readonly PolicyRule[] = [
  {
    apiGroups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests'],
    verbs: ['create', 'get', 'list', 'watch'],
  },
];

/** Whether the rules of a user, or being in `system:masters`, allow it. */
export function isAllowed(user: User, rules: readonly PolicyRule[], wanted: ResourceAttributes): boolean {
  if (user.groups.includes('system:masters')) return true;
  return [...rules, ...(isNode(user) ? NODE_RULES : [])].some((rule) => covers(rule, wanted));
}

/** A kubelet with its own credentials: what the node authorizer and NodeRestriction go by. */
export function isNode(user: User): boolean {
  return user.groups.includes('system:nodes') && user.name.startsWith('system:node:');
}

/**
 * The admission plugin CertificateApproval: `approve` on the signer's name or on its whole domain.
 *
 * @param resource the CertificateSigningRequests, for the error.
 * @throws ApiError 403.
 */
export function requireApprover(
  user: User,
  rules: readonly PolicyRule[],
  resource: Named,
  csr: { readonly name: string; readonly signerName: string },
): void {
  const signers: Named = { group: 'certificates.k8s.io', plural: 'signers', kind: 'Signer' };
  const domain = `${csr.signerName.split('/')[0]}/*`;
  const allowed = [csr.signerName, domain].some((name) =>
    isAllowed(user, rules, { resource: signers, verb: 'approve', name }),
  );
  if (!allowed) {
    const why = `user not permitted to approve requests with signerName ${JSON.stringify(csr.signerName)}`;
    throw forbidden(resource, csr.name, why);
  }
}

/** @throws ApiError 403 in the words of kube-apiserver. */
export function requireAllowed(user: User, rules: readonly PolicyRule[], wanted: ResourceAttributes): void {
  if (isAllowed(user, rules, wanted)) return;
  const { resource, verb, name, subresource, namespace } = wanted;
  const what = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const why = `User ${JSON.stringify(user.name)} cannot ${verb} resource "${what}" in API group "${resource.group}" ${where}`;
  throw forbidden(resource, name, why);
}

/** @throws ApiError 403 for a path that is no resource. */
export function requireSuperuser(user: User, verb: string, path: string): void {
  if (user.groups.includes('system:masters')) return;
  const why = `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`;
  throw new ApiError(403, 'Forbidden', why, {});
}

/** A user with the token that proves it. */
export interface Credential {
  readonly token: string;
  readonly user: User;
}

/** Headers that say who asks. A header that came several times has several values. */
export interface IdentityHeaders {
  readonly authorization?: string | undefined;
  readonly impersonateUser?: string | undefined;
  readonly impersonateGroups: readonly string[];
}

/**
 * Who asks: the owner of the bearer token, or whom it impersonates.
 *
 * @throws ApiError 401 for an unknown token, 400 and 403 for an impersonation that is incomplete or not allowed. No
 * token at all makes `system:anonymous`, whom the authorizer then refuses.
 *
 * @param authenticateToken who owns a token that is not among `credentials`, as a webhook of the API server tells. @default nobody
 */
export function authenticate(
  credentials: ReadonlyMap<string, User>,
  headers: IdentityHeaders,
  authenticateToken: (token: string) => User | undefined = () => undefined,
): User {
  const token = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1]?.trim();
  const user = token === undefined ? ANONYMOUS : (credentials.get(token) ?? authenticateToken(token));
  if (user === undefined) throw unauthorized();
  const { impersonateUser, impersonateGroups } = headers;
  if (impersonateUser === undefined) {
    if (impersonateGroups.length > 0) throw badRequest('requested groups without impersonating a user name');
    return user;
  }
  if (!user.groups.includes('system:masters')) {
    const users: Named = { group: '', plural: 'users', kind: 'User' };
    const why = `User ${JSON.stringify(user.name)} cannot impersonate resource "users" in API group "" at the cluster scope`;
    throw forbidden(users, impersonateUser, why);
  }
  return authenticated(impersonateUser, impersonateGroups);
}

/** A user in the groups given and in the one that everybody is in who has proven who he is. */
export function authenticated(name: string, groups: readonly string[]): User {
  return { name, groups: [...new Set([...groups, 'system:authenticated'])] };
}

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

function covers(rule: PolicyRule, { resource, verb, name, subresource }: ResourceAttributes): boolean {
  const full = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  return (
    lists(rule.verbs, verb) &&
    lists(rule.apiGroups, resource.group) &&
    lists(rule.resources, full) &&
    // A request that names no object (list, create) is never covered by a rule that names some.
    (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)))
  );
}

function lists(values: readonly string[], value: string): boolean {
  return values.includes(value) || values.includes('*');
}
