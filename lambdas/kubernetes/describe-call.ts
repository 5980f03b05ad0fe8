import type { ApiMethod } from './client.ts';

/**
 * Describes a call in the API's own verbs: `list certificatesigningrequests on https://…`, `get
 * serviceaccounts/certmarshal in kube-system on https://…`.
 *
 * @param path percent-encoded, so that no name in it has a control character
 */
export function describeCall(method: ApiMethod, path: string, server: string): string {
  const { resource = path, namespace } =
    /^\/(?:api|apis\/[^/]+)\/v[^/]+\/(?:namespaces\/(?<namespace>[^/]+)\/)?(?<resource>.+)$/.exec(path)?.groups ?? {};
  const read = resource.includes('/') ? 'get' : 'list';
  return `${{ GET: read, PUT: 'update', POST: 'create', PATCH: 'patch' }[method]} ${resource}${namespace === undefined ? '' : ` in ${namespace}`} on ${server}`;
}
