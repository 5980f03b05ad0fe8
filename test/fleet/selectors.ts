import { badRequest } from './api-error.ts';
import type { KubeObject } from './kube-object.ts';

/** Whether a list shows an object. */
export type Matches = (object: KubeObject) => boolean;

/**
 * Reads `fieldSelector`: `=`, `==` and `!=`, joined by commas.
 *
 * @param fields what the resource can be selected by, as paths: `spec.signerName`.
 * @throws ApiError 400 for a field that is not one of them.
 */
export function fieldSelector(text: string, fields: readonly string[]): Matches {
  return all(
    terms(text).map(({ key, equal, value }) => {
      if (!fields.includes(key)) throw badRequest(`field label not supported: ${key}`);
      return (object) => (valueAt(object, key) === value) === equal;
    }),
  );
}

/**
 * Reads `labelSelector`: `=`, `==` and `!=`, and whether a label is there (`key`, `!key`), joined by commas. Sets (`in`,
 * `notin`) are not simulated.
 *
 * @throws ApiError 400 for anything else.
 */
export function labelSelector(text: string): Matches {
  return all(
    text.split(',').map((term) => {
      const [, absent, label] = /^\s*(!?)([^=!\s()]+)\s*$/.exec(term) ?? [];
      if (label !== undefined) return ({ metadata }) => (metadata.labels?.[label] === undefined) === (absent === '!');
      const { key, equal, value } = termOf(term, text);
      return ({ metadata }) => (metadata.labels?.[key] === value) === equal;
    }),
  );
}

function terms(text: string): { key: string; equal: boolean; value: string }[] {
  return text.split(',').map((term) => termOf(term, text));
}

function termOf(term: string, text: string): { key: string; equal: boolean; value: string } {
  const [, key, operator, value] = /^\s*([^=!\s]+)\s*(==|=|!=)\s*([^=!]*?)\s*$/.exec(term) ?? [];
  if (key === undefined || value === undefined)
    throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
  return { key, equal: operator !== '!=', value };
}

function all(matches: readonly Matches[]): Matches {
  return (object) => matches.every((one) => one(object));
}

/** @param path names joined by dots. */
function valueAt(object: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => Object.getOwnPropertyDescriptor(Object(value), name)?.value, object);
}
