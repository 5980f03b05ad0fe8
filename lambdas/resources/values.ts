import { printable } from '../printable.ts';
import { instant, LAST_INSTANT } from '../time.ts';
import { field, list, reader, text } from './fields.ts';

// Readers of values of objects from a cluster: what is not as it should be is absent, never an exception.

/** The longest name that Kubernetes gives. */
const MAX_NAME = 253;
const MAX_CONDITIONS = 64;
const MAX_TIME = 40;
const MAX_WORD = 100;
const MAX_MESSAGE = 300;

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
export const nameAt = reader((found) =>
  typeof found !== 'string' || found === '' || found.length > MAX_NAME ? undefined : printable(found, MAX_NAME),
);

/** Words for people; undefined when there are none. */
export const wordsAt = reader((found) =>
  typeof found !== 'string' || found === '' ? undefined : printable(found, MAX_MESSAGE),
);

/** A whole number of int64 that JSON carries exactly, not below zero. */
export function countOf(found: unknown): number | undefined {
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}
export const countAt = reader(countOf);

/** The same of int32. */
export function smallCountOf(found: unknown): number | undefined {
  const count = countOf(found);
  return count !== undefined && count < 2 ** 31 ? count : undefined;
}

/** Milliseconds since the epoch; undefined for what is not an RFC 3339 time since 1970 that can be written again. */
export function timeOf(found: unknown): number | undefined {
  const time = typeof found === 'string' && found.length <= MAX_TIME ? instant(found) : undefined;
  return time !== undefined && time >= 0 && time <= LAST_INSTANT ? time : undefined;
}
export const timeAt = reader(timeOf);

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

/** Those of a list, by type; the first of a type is the one. */
export const conditionsAt = reader((found): ReadonlyMap<string, Condition> => {
  const conditions = new Map<string, Condition>();
  for (const entry of list(found).slice(0, MAX_CONDITIONS)) {
    const type = text(entry, 'type');
    if (type === undefined || type.length > MAX_WORD || conditions.has(type)) continue;
    const status = text(entry, 'status');
    const reason = text(entry, 'reason');
    const message = wordsAt(entry, 'message');
    const since = timeAt(entry, 'lastTransitionTime');
    conditions.set(type, {
      status: status === 'True' || status === 'False' ? status : 'Unknown',
      reason: reason === undefined || reason === '' ? undefined : printable(reason, MAX_WORD),
      message,
      since,
    });
  }
  return conditions;
});

/** `False, RollingUpdateInProgress: 1 of 3 machines`, for people. */
export function shownCondition({ status, reason, message }: Condition): string {
  const because = [reason, message].filter((words) => words !== undefined).join(': ');
  return [status, because].filter((words) => words !== '').join(', ');
}
