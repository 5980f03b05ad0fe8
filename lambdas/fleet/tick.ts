import { MINUTE_MS } from '../time.ts';

/** Scheduler drops what it could not deliver within a minute; anything further away is no time of this schedule. */
const FURTHEST_MS = 5 * MINUTE_MS;

/**
 * The minute that an event stands for. Every delivery of it gives the same one, so that the queue can drop repetitions. Events
 * without a usable time (started by hand, or a placeholder that nobody replaced) stand for the current minute.
 *
 * @param now milliseconds since the epoch
 * @returns milliseconds since the epoch, a whole minute
 */
export function tickOf(event: unknown, now: number): number {
  return tickAt(scheduledTimeOf(event), now);
}

/** {@link tickOf}, of a time in milliseconds since the epoch. */
export function tickAt(time: number, now: number): number {
  return Math.floor((Math.abs(time - now) <= FURTHEST_MS ? time : now) / MINUTE_MS) * MINUTE_MS;
}

function scheduledTimeOf(event: unknown): number {
  if (typeof event !== 'object' || event === null || !('scheduledTime' in event)) return Number.NaN;
  return typeof event.scheduledTime === 'string' ? Date.parse(event.scheduledTime) : Number.NaN;
}
