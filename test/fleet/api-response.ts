import type { KubeObject } from './kube-object.ts';
import type { Resource } from './resources.ts';

/** What the API answers. */
export interface ApiResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export function json(status: number, body: string): ApiResponse {
  return { status, contentType: 'application/json', body: `${body}\n` };
}

export function apiVersionOf({ group }: Resource, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

const texts = new WeakMap<KubeObject, string>();

/** An object as JSON without its kind. Made once: objects do not change, and lists show thousands of them. */
export function textOf(object: KubeObject): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** An object as JSON with its kind, in one of its versions. */
export function typed(resource: Resource, version: string, object: KubeObject): string {
  const type = JSON.stringify({ kind: resource.kind, apiVersion: apiVersionOf(resource, version) });
  return `${type.slice(0, -1)},${textOf(object).slice(1)}`;
}
