import { setTimeout as delay } from 'node:timers/promises';

import { AwsError } from './errors.ts';

/** Widest distance between two calls. Milliseconds. */
const SLOWEST_MS = 2_000;
/** Tries of one call that AWS throttles: about 15 s when nothing else is called, and longer while others are. */
const MAX_THROTTLED = 12;
/** Tries of one call that is not answered. */
const MAX_UNANSWERED = 3;

/** The calls of one API in one account and Region, one after the other in time, however many are wanted at once. */
export type Pace = <T>(call: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/**
 * Starts calls evenly, as a token bucket of AWS fills, and tries those again that it throttles: the distance between two calls grows by half
 * with each throttled one that was started since it last grew, and shrinks by a tenth with each answer. Calls that need longer
 * than the distance overlap. They start in the order in which they were asked for; a call that is tried again goes to the end.
 *
 * @param callsPerSecond when nothing is throttled
 */
export function createPace(callsPerSecond: number): Pace {
  const fastest = 1_000 / callsPerSecond;
  let distance = fastest;
  let started = -Infinity;
  let slowed = -Infinity;
  let queue: Promise<unknown> = Promise.resolve();

  const wait = async (signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return;
    const left = started + distance - performance.now();
    // Ended by the signal: the call itself then says so.
    if (left > 0) await delay(left, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) started = performance.now();
  };
  const throttled = (start: number): void => {
    if (start < slowed) return;
    slowed = performance.now();
    distance = Math.min(distance * 1.5, SLOWEST_MS);
  };

  return async (call, signal) => {
    let [throttles, silences] = [0, 0];
    for (;;) {
      queue = queue.then(() => wait(signal));
      await queue;
      const start = started;
      try {
        const answer = await call();
        distance = Math.max(distance * 0.9, fastest);
        return answer;
      } catch (error) {
        if (!(error instanceof AwsError)) throw error;
        if (error.kind === 'throttled') {
          throttled(start);
          throttles += 1;
        } else if (error.kind === 'unavailable') silences += 1;
        else throw error;
        if (throttles >= MAX_THROTTLED || silences >= MAX_UNANSWERED) throw error;
      }
    }
  };
}
