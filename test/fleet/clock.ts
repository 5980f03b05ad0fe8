/** The time that a simulated fleet lives in. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Resolves when `milliseconds` of this clock have passed.
   *
   * @throws the signal's reason when it is aborted first.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /**
   * Waits for work that takes real time (cryptography, I/O). A stepped clock stands still until it is done; a clock that
   * runs cannot.
   */
  during<T>(work: Promise<T>): Promise<T>;
}

/** A clock that stands still between calls of {@link SteppedClock.advance}. */
export interface SteppedClock extends Clock {
  /**
   * Moves time forward. Sleepers wake in the order of their times, and each acts until it sleeps again before the next
   * one wakes. What takes real time has to go through {@link Clock.during}.
   */
  advance(milliseconds: number): Promise<void>;
}

/**
 * A clock that runs faster than real time.
 *
 * @param start its first time, milliseconds since the epoch
 * @param speed how many of its seconds pass in one real second
 * @param until from this time on it runs as fast as real time, milliseconds since the epoch. @default never
 */
export function fastClock(start: number, speed: number, until = Number.POSITIVE_INFINITY): Clock {
  const begin = performance.now();
  const now = () => {
    const fast = start + (performance.now() - begin) * speed;
    return Math.floor(fast <= until ? fast : until + (fast - until) / speed);
  };
  return {
    now,
    sleep: (milliseconds, signal) =>
      sleeping(signal, (wake) => {
        const left = Math.max(0, milliseconds);
        const fast = Math.min(left, Math.max(0, until - now()));
        const timer = setTimeout(wake, Math.min(fast / speed + left - fast, MAX_TIMER));
        return () => clearTimeout(timer);
      }),
    during: (work) => work,
  };
}

// Node.js fires longer timers at once; no run lasts these 24 days.
const MAX_TIMER = 2 ** 31 - 1;

/** @param start what the clock shows until it is advanced, milliseconds since the epoch. */
export function steppedClock(start: number): SteppedClock {
  let now = start;
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  const works = new Set<Promise<unknown>>();

  /** Nobody has anything left to do before time goes on. */
  const settled = async (): Promise<void> => {
    do {
      await Promise.allSettled(works);
      // What was waiting for a promise runs before this, and what that makes due as well.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    } while (works.size > 0);
  };

  return {
    now: () => now,
    sleep: (milliseconds, signal) =>
      sleeping(signal, (wake) => {
        const sleeper = { at: now + Math.max(0, milliseconds), wake };
        sleepers.add(sleeper);
        return () => sleepers.delete(sleeper);
      }),
    during(work) {
      const ended = work.finally(() => works.delete(ended));
      works.add(ended);
      return ended;
    },
    async advance(milliseconds) {
      const end = now + milliseconds;
      await settled();
      for (;;) {
        const next = Math.min(...Array.from(sleepers, ({ at }) => at));
        if (next > end) break;
        now = Math.max(now, next);
        for (const sleeper of [...sleepers].filter(({ at }) => at <= now)) {
          sleepers.delete(sleeper);
          sleeper.wake();
        }
        await settled();
      }
      now = end;
    },
  };
}

/** @param start begins to sleep and returns how to give up. */
function sleeping(signal: AbortSignal | undefined, start: (wake: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const cancel = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
