import { text } from '../resources/fields.ts';
import { MINUTE_MS } from '../time.ts';

/** Scheduler drops events undelivered within a minute; any other time is not of this schedule. */
const FURTHEST_MS = 5 * MINUTE_MS;

/**
 * The minute of a tick. Every execution of an event gives the same one, so that one of them plans it. Events without a
 * usable time (started by hand, or with an unreplaced placeholder) mean the current minute.
 *
 * @param now milliseconds since the epoch
 * @returns milliseconds since the epoch, a whole minute
 */
export function tickOf(event: unknown, now: number): number {
  return tickAt(Date.parse(text(event, 'tick') ?? ''), now);
}

/** {@link tickOf}, of a time in milliseconds since the epoch. */
export function tickAt(time: number, now: number): number {
  return Math.floor((Math.abs(time - now) <= FURTHEST_MS ? time : now) / MINUTE_MS) * MINUTE_MS;
}
