import type { Resource } from './resources.ts';

/** What a path points at. */
export interface Target {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

export type NamedTarget = Target & { readonly name: string };

export function isNamed(target: Target): target is NamedTarget {
  return target.name !== undefined;
}

const TARGET =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)\/(?:namespaces\/(?<namespace>[^/]+)\/)?(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>[^/]+))?)?$/;

/** @returns undefined for a path of no resource: discovery, version and the like. */
export function parseTarget(path: string, query: URLSearchParams): Target | undefined {
  const groups = TARGET.exec(path)?.groups;
  if (groups === undefined) return undefined;
  const part = (name: string): string | undefined => {
    const text = groups[name];
    return text === undefined ? undefined : decodeURIComponent(text);
  };
  return {
    group: part('group') ?? '',
    version: part('version') ?? '',
    namespace: part('namespace'),
    plural: part('plural') ?? '',
    name: part('name'),
    subresource: part('subresource'),
    query,
  };
}

/** Objects in namespaces are listed across all of them; everything else happens in one. */
export function isAddressable({ namespaced }: Resource, verb: string, { namespace }: Target): boolean {
  return namespaced ? namespace !== undefined || verb === 'list' : namespace === undefined;
}

/** The verb that the authorizer is asked about. */
export function verbOf(method: string, { name }: Target): string {
  if (method === 'GET') return name === undefined ? 'list' : 'get';
  return { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }[method] ?? method.toLowerCase();
}
