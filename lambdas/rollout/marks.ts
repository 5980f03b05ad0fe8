import { instant } from '../approval/read-request.ts';
import { printable } from '../printable.ts';
import type { HoldMark, RolloutMark } from './annotations.ts';

/** More is not ours. */
const LONGEST_VALUE = 4096;
const LONGEST_TEXT = 1200;

const ID = /^[a-z0-9-]{1,26}$/;
const REASON_ID = /^[a-z0-9-]{1,64}$/;

/**
 * The value of `ROLLOUT_ANNOTATION`; `unreadable` for everything that `formatRolloutMark` does not write. Never throws.
 */
export function parseRolloutMark(value: unknown): RolloutMark | 'unreadable' {
  const read = fieldsOf(value, ['id', 'start', 'reason', 'trigger', 'abortedAt']);
  const { id, start, reason, trigger, abortedAt } = read ?? {};
  if (!isId(id) || !isTime(start) || !isWords(reason)) return 'unreadable';
  // `rollout.after` is kept in whole seconds, and has to be the same.
  if (start.includes('.') || (trigger !== 'schedule' && trigger !== 'person')) return 'unreadable';
  if (abortedAt === undefined) return { id, start, reason, trigger };
  return isTime(abortedAt) ? { id, start, reason, trigger, abortedAt } : 'unreadable';
}

/** The value of `HOLD_ANNOTATION`; `unreadable` for everything that `formatHoldMark` does not write. Never throws. */
export function parseHoldMark(value: unknown): HoldMark | 'unreadable' {
  const { id, at, reason, message } = fieldsOf(value, ['id', 'at', 'reason', 'message']) ?? {};
  if (!isId(id) || !isTime(at) || !isWords(message)) return 'unreadable';
  return typeof reason === 'string' && REASON_ID.test(reason) ? { id, at, reason, message } : 'unreadable';
}

/** One line of JSON; what is too long to be read again is cut. */
export function formatRolloutMark({ id, start, reason, trigger, abortedAt }: RolloutMark): string {
  return JSON.stringify({ id, start, reason: words(reason), trigger, abortedAt });
}

/** One line of JSON; what is too long to be read again is cut. */
export function formatHoldMark({ id, at, reason, message }: HoldMark): string {
  return JSON.stringify({ id, at, reason, message: words(message) });
}

/** What is made printable may be twice as long, and an ellipsis; it stays as it is when it is made printable again. */
function words(text: string): string {
  return isWords(text) ? text : printable(text, LONGEST_TEXT / 2 - 1);
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 40 && (instant(value) ?? -1) >= 0;
}

function isWords(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_TEXT && printable(value, LONGEST_TEXT) === value;
}

/** Undefined where it is no JSON object, or has a field that nobody knows: that may say that the others mean something else. */
function fieldsOf(value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'string' || value.length > LONGEST_VALUE) return undefined;
  let read: unknown;
  try {
    read = JSON.parse(value);
  } catch {
    return undefined;
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined;
  const entries = Object.entries(read);
  return entries.every(([key]) => known.includes(key)) ? Object.fromEntries(entries) : undefined;
}
