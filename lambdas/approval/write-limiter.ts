// 16 to 64 writes in flight saturate a kube-apiserver with two cores; more only queue. A 429 halves the limit, ten
// answers in a row raise it by one.
const INITIAL = 32;
const MAXIMUM = 64;
const RAISE_AFTER = 10;

/** Limits concurrent writes: additive increase, multiplicative decrease. */
export interface WriteLimiter {
  /** Resolves when there is room for one more write; each call needs one {@link leave}. */
  enter(): Promise<void>;
  leave(): void;
  readonly limit: number;
}

/**
 * @param throttled how often the server has asked to slow down so far; retries inside a write count as well
 * @param most writes at once
 */
export function createWriteLimiter(throttled: () => number, most: number = MAXIMUM): WriteLimiter {
  let limit = Math.min(INITIAL, most);
  let inFlight = 0;
  let answered = 0;
  let heeded = throttled();
  const waiting: (() => void)[] = [];

  return {
    async enter() {
      if (inFlight < limit) inFlight += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    leave() {
      inFlight -= 1;
      answered += 1;
      if (throttled() > heeded) {
        heeded = throttled();
        answered = 0;
        limit = Math.max(1, Math.floor(limit / 2));
      } else if (answered >= RAISE_AFTER && limit < most) {
        answered = 0;
        limit += 1;
      }
      while (inFlight < limit && waiting.length > 0) {
        inFlight += 1;
        waiting.shift()?.();
      }
    },
    get limit() {
      return limit;
    },
  };
}
