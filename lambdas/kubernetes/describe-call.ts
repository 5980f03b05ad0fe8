/**
 * What a call attempts on what, in the API's own verbs: `list certificatesigningrequests on https://…`.
 *
 * @param path percent-encoded, so that no name in it can carry a control character.
 */
export function describeCall(method: 'GET' | 'PUT' | 'POST', path: string, server: string): string {
  const resource = /^\/(?:api|apis\/[^/]+)\/v[^/]+\/(?:namespaces\/[^/]+\/)?(.+)$/.exec(path)?.[1] ?? path;
  const read = resource.includes('/') ? 'get' : 'list';
  return `${{ GET: read, PUT: 'update', POST: 'create' }[method]} ${resource} on ${server}`;
}
