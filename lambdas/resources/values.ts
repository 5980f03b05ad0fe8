import { printable } from '../printable.ts';
import { instant, LAST_INSTANT } from '../time.ts';
import { field, list, reader, text } from './fields.ts';

// Readers of values in objects from a cluster: an invalid value is absent, never an exception.

/** The longest name in Kubernetes. */
const MAX_NAME = 253;
const MAX_CONDITIONS = 64;
const MAX_TIME = 40;
const MAX_WORD = 100;
const MAX_MESSAGE = 300;

export interface Condition {
  readonly status: 'True' | 'False' | 'Unknown' | 'Missing';
  readonly reason?: string;
  readonly message?: string;
  /** `lastTransitionTime`. Milliseconds since the epoch. */
  readonly since?: number;
}

/** The identity that a write needs. */
export interface ObjectVersion {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A name, printable and bounded; undefined if missing. */
export const nameAt = reader((found) =>
  typeof found !== 'string' || found === '' || found.length > MAX_NAME ? undefined : printable(found, MAX_NAME),
);

/** Text for people; undefined if missing. */
export const wordsAt = reader((found) =>
  typeof found !== 'string' || found === '' ? undefined : printable(found, MAX_MESSAGE),
);

/** A non-negative int64 that JSON represents exactly. */
export function countOf(found: unknown): number | undefined {
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}
export const countAt = reader(countOf);

/** The same of int32. */
export function smallCountOf(found: unknown): number | undefined {
  const count = countOf(found);
  return count !== undefined && count < 2 ** 31 ? count : undefined;
}

/** Milliseconds since the epoch; undefined for anything but a writable RFC 3339 time since 1970. */
export function timeOf(found: unknown): number | undefined {
  const time = typeof found === 'string' && found.length <= MAX_TIME ? instant(found) : undefined;
  return time !== undefined && time >= 0 && time <= LAST_INSTANT ? time : undefined;
}
export const timeAt = reader(timeOf);

export function isDeleting(object: unknown): boolean {
  return field(object, 'metadata', 'deletionTimestamp') != null;
}

/**
 * The value of an annotation; empty if it is not text. Undefined without the key; Cluster API only checks the presence
 * of some keys.
 */
export function annotation(object: unknown, name: string): string | undefined {
  const found = field(object, 'metadata', 'annotations', name);
  if (found === undefined) return undefined;
  return typeof found === 'string' ? found : '';
}

/** Undefined if a write could not name the object: a management cluster sets all of these. */
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

/** The conditions of a list, by type; the first of a type counts. */
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
