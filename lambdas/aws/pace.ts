import { setTimeout as delay } from 'node:timers/promises';
import { AwsError } from './errors.ts';

/** Widest distance between two calls. Milliseconds. */
const SLOWEST_MS = 2_000;
/** Tries of one throttled call: about 15 s without other calls, longer with them. */
const MAX_THROTTLED = 12;
/** Tries of one unanswered call. */
const MAX_UNANSWERED = 3;

/** Paces the calls of one API in one account and Region; those that follow a first one are before further first ones. */
export type Pace = <T>(call: () => Promise<T>, signal: AbortSignal, isFirst?: boolean) => Promise<T>;

/**
 * Starts calls evenly, like the token bucket of AWS fills, and retries throttled ones. The interval grows by half with
 * each throttled call started since it last grew, and shrinks by a tenth with each answer. Calls longer than the
 * interval overlap. They start in order; a retry goes to the end.
 *
 * @param callsPerSecond without throttling
 */
export function createPace(callsPerSecond: number): Pace {
  const fastest = 1_000 / callsPerSecond;
  let distance = fastest;
  let started = -Infinity;
  let slowed = -Infinity;
  let queue: Promise<unknown> = Promise.resolve();
  let firsts: Promise<unknown> = Promise.resolve();

  const wait = async (signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return;
    const left = started + distance - performance.now();
    // Ended by the signal: the call itself reports it.
    if (left > 0) await delay(left, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) started = performance.now();
  };
  const throttled = (start: number): void => {
    if (start < slowed) return;
    slowed = performance.now();
    distance = Math.min(distance * 1.5, SLOWEST_MS);
  };

  const enter = async (signal: AbortSignal): Promise<void> => {
    const turn = queue.then(() => wait(signal));
    queue = turn;
    return turn;
  };

  return async (call, signal, isFirst = false) => {
    let [throttles, silences] = [0, 0];
    for (;;) {
      if (isFirst && throttles + silences === 0) {
        firsts = firsts.then(() => enter(signal));
        await firsts;
      } else await enter(signal);
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
