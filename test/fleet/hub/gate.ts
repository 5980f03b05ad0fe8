import type { Clock } from '../clock.ts';
import type { Fault } from '../faults.ts';

/** Stops requests at an API server until somebody opens, while the clock goes on. */
export interface Gate {
  readonly fault: Fault;
  /** Resolves when the first request is held. */
  readonly reached: Promise<void>;
  /** Lets all go, and waits for what was held up. */
  open(): Promise<void>;
  /** For `duringSweep`: waits for work as the clock does, but not for what is held. */
  readonly during: <T>(work: Promise<T>) => Promise<T>;
}

export function createGate(clock: Clock): Gate {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const held: Promise<unknown>[] = [];
  let isReached = false;
  return {
    reached,
    fault: {
      kind: 'hold',
      until: async () => {
        isReached = true;
        reach();
        await opened;
      },
    },
    async open() {
      open();
      await clock.during(Promise.allSettled(held));
    },
    async during(work) {
      if (isReached) await clock.during(work);
      else {
        held.push(work);
        await clock.during(Promise.race([work, reached]));
      }
      return work;
    },
  };
}
