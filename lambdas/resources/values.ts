import { printable } from '../printable.ts';
import { instant } from '../time.ts';
import { field, list, text } from './fields.ts';

// Readers of values of objects from a cluster: what is not as it should be is absent, never an exception.

/** The longest name that Kubernetes gives. */
const LONGEST_NAME = 253;
const MOST_CONDITIONS = 64;
const LONGEST_WORD = 100;
const LONGEST_MESSAGE = 300;

/** A condition of an object. */
export interface Condition {
  readonly status: 'True' | 'False' | 'Unknown' | 'Missing';
  readonly reason?: string;
  readonly message?: string;
  /** `lastTransitionTime`. Milliseconds since the epoch. */
  readonly since?: number;
}

/** What a write names. */
export interface ObjectVersion {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A name, printable and bounded; undefined when there is none. */
export function nameAt(object: unknown, ...path: readonly string[]): string | undefined {
  const found = text(object, ...path);
  return found === undefined || found === '' || found.length > LONGEST_NAME
    ? undefined
    : printable(found, LONGEST_NAME);
}

/** Words for people; undefined when there are none. */
export function wordsAt(object: unknown, ...path: readonly string[]): string | undefined {
  const found = text(object, ...path);
  return found === undefined || found === '' ? undefined : printable(found, LONGEST_MESSAGE);
}

/** A whole number of int64 that JSON carries exactly, not below zero. */
export function countAt(object: unknown, ...path: readonly string[]): number | undefined {
  const found = field(object, ...path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}

/** Milliseconds since the epoch; undefined for what is no RFC 3339 time since 1970. */
export function timeAt(object: unknown, ...path: readonly string[]): number | undefined {
  const found = text(object, ...path);
  const at = found === undefined || found.length > 40 ? undefined : instant(found);
  return at !== undefined && at >= 0 ? at : undefined;
}

export function isDeleting(object: unknown): boolean {
  return field(object, 'metadata', 'deletionTimestamp') != null;
}

/** The value of an annotation as it stands; empty where it is no text. Undefined where there is no such key, which is all that Cluster API asks for some. */
export function annotation(object: unknown, name: string): string | undefined {
  const found = field(object, 'metadata', 'annotations', name);
  if (found === undefined) return undefined;
  return typeof found === 'string' ? found : '';
}

/** Undefined where a write could not name the object: a management cluster gives all of these. */
export function objectVersion(object: unknown): ObjectVersion | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  const uid = nameAt(object, 'metadata', 'uid');
  const resourceVersion = nameAt(object, 'metadata', 'resourceVersion');
  if (namespace === undefined || name === undefined || uid === undefined || resourceVersion === undefined) {
    return undefined;
  }
  return { namespace, name, uid, resourceVersion };
}

export const MISSING: Condition = { status: 'Missing' };

/** Those below a path, by type; the first of a type is the one. */
export function conditionsAt(object: unknown, ...path: readonly string[]): ReadonlyMap<string, Condition> {
  const conditions = new Map<string, Condition>();
  for (const entry of list(object, ...path).slice(0, MOST_CONDITIONS)) {
    const type = text(entry, 'type');
    if (type === undefined || type.length > LONGEST_WORD || conditions.has(type)) continue;
    const status = text(entry, 'status');
    const reason = text(entry, 'reason');
    const message = wordsAt(entry, 'message');
    const since = timeAt(entry, 'lastTransitionTime');
    conditions.set(type, {
      status: status === 'True' || status === 'False' ? status : 'Unknown',
      reason: reason === undefined || reason === '' ? undefined : printable(reason, LONGEST_WORD),
      message,
      since,
    });
  }
  return conditions;
}

/** `False, RollingUpdateInProgress: 1 of 3 machines`, for people. */
export function shownCondition({ status, reason, message }: Condition): string {
  const because = [reason, message].filter((words) => words !== undefined).join(': ');
  return [status, because].filter((words) => words !== '').join(', ');
}
