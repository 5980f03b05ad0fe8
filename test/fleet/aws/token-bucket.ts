export interface TokenBucketOptions {
  /** Requests a second, in the long run. */
  readonly rate: number;
  /** Requests at once, after a pause. */
  readonly burst: number;
}

/** How AWS throttles: a bucket of `burst` tokens that fills by `rate` a second; each request takes one. */
export interface TokenBucket {
  /** @returns false when there is none left. */
  take(): boolean;
}

export function createTokenBucket({ rate, burst }: TokenBucketOptions, now: () => number): TokenBucket {
  let tokens = burst;
  let filledAt = now();
  return {
    take() {
      const time = now();
      tokens = Math.min(burst, tokens + ((time - filledAt) / 1000) * rate);
      filledAt = time;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
