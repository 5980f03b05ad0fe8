import * as z from 'zod/mini';
import { printable } from '../printable.ts';
import { instant } from '../time.ts';
import { type Contract, matching, readJson } from './contract.ts';

/** A longer one is not ours. Bytes. */
const MAX_VALUE = 4096;
const MAX_TEXT = 1200;

export const ROLLOUT_ID = /^[a-z0-9-]{1,26}$/;
export const RolloutId = matching(ROLLOUT_ID, 'the id of a rollout');
/** RFC 3339. */
const MarkTime = z.string().check(
  z.maxLength(40),
  z.refine((time) => (instant(time) ?? -1) >= 0),
);
const Words = z.string().check(
  z.maxLength(MAX_TEXT),
  z.refine((words) => printable(words, MAX_TEXT) === words),
);

/** Who began it: the schedule of a deployed certmarshal, or a person at a keyboard. */
export const Trigger = z.enum(['schedule', 'person']);
export type RolloutTrigger = z.infer<typeof Trigger>;

// An unknown field may change the meaning of these: then the mark is unreadable.

/** The value of `ROLLOUT_ANNOTATION`. */
const RolloutMark = z.strictObject({
  /** At most 26 characters of `[a-z0-9-]`; derived from cluster and start, so that one rollout has one id. */
  id: RolloutId,
  /** RFC 3339, whole seconds: also the value of `rollout.after`. Machines created since belong to the rollout. */
  start: MarkTime.check(z.refine((start) => !start.includes('.'))),
  reason: Words,
  trigger: Trigger,
  /** Stopped with `certmarshal rollout abort` at this time. RFC 3339. */
  abortedAt: z.optional(MarkTime),
});
export type RolloutMark = Contract<typeof RolloutMark>;

/** The value of `HOLD_ANNOTATION`. */
const HoldMark = z.strictObject({
  id: RolloutId,
  /** RFC 3339. */
  at: MarkTime,
  /** Id of the reason: a page of the runbooks. */
  reason: matching(/^[a-z0-9-]{1,64}$/, 'the id of a reason'),
  message: Words,
});
export type HoldMark = Contract<typeof HoldMark>;

/**
 * The value of `ROLLOUT_ANNOTATION`; `unreadable` for everything that `formatRolloutMark` does not write. Never throws.
 */
export function parseRolloutMark(value: unknown): RolloutMark | 'unreadable' {
  return parsed(RolloutMark, value);
}

/** The value of `HOLD_ANNOTATION`; `unreadable` for everything that `formatHoldMark` does not write. Never throws. */
export function parseHoldMark(value: unknown): HoldMark | 'unreadable' {
  return parsed(HoldMark, value);
}

/** One line of JSON; what is too long to be read again is cut. */
export function formatRolloutMark({ id, start, reason, trigger, abortedAt }: RolloutMark): string {
  return JSON.stringify({ id, start, reason: bounded(reason), trigger, abortedAt });
}

/** One line of JSON; what is too long to be read again is cut. */
export function formatHoldMark({ id, at, reason, message }: HoldMark): string {
  return JSON.stringify({ id, at, reason, message: bounded(message) });
}

function parsed<S extends z.ZodMiniType>(schema: S, value: unknown): Contract<S> | 'unreadable' {
  const mark = typeof value === 'string' ? readJson(schema, value, MAX_VALUE) : undefined;
  return mark?.ok ? mark.value : 'unreadable';
}

/** Escaped text may be twice as long, plus an ellipsis; escaping it again does not change it. */
function bounded(text: string): string {
  return Words.safeParse(text).success ? text : printable(text, MAX_TEXT / 2 - 1);
}
