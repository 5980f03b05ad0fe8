import type { Clock } from '../clock.ts';

/** Wakes who waits for a change. */
export interface Bell {
  ring(): void;
  /**
   * Resolves when it rings, or when so many milliseconds of the clock have passed.
   *
   * @throws the signal's reason when it is aborted first.
   */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export function createBell(clock: Clock): Bell {
  let waiting = new Set<() => void>();
  return {
    ring() {
      const woken = waiting;
      waiting = new Set();
      for (const wake of woken) wake();
    },
    async wait(milliseconds, signal) {
      const enough = new AbortController();
      const passed = clock.sleep(milliseconds, anyOf(enough.signal, signal));
      let wake = (): void => undefined;
      const rung = new Promise<void>((resolve) => {
        wake = resolve;
        waiting.add(wake);
      });
      try {
        await Promise.race([rung, passed]);
      } finally {
        // Whichever lost is not left behind.
        waiting.delete(wake);
        enough.abort();
        passed.catch(() => undefined);
      }
    },
  };
}

function anyOf(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? signal : AbortSignal.any([signal, other]);
}
