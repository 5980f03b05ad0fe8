import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTokenBucket } from '../../fleet/aws/token-bucket.ts';
import { pacedCalls } from './paced-calls.ts';

const never = new AbortController().signal;

// `delay` of node:timers/promises is not faked by vitest: it is made of the faked setTimeout here.
vi.mock('node:timers/promises', () => ({
  setTimeout: (milliseconds: number, value: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds, value);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      });
    }),
}));

/** How many seconds of the test's clock it takes. */
async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  const state = { endedAt: -1 };
  const done = work().then(() => (state.endedAt = performance.now()));
  while (state.endedAt < 0) await vi.advanceTimersByTimeAsync(10);
  await done;
  return (state.endedAt - startedAt) / 1000;
}

describe('turns', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('make a list and 100 descriptions in ten seconds, with nothing throttled at that rate', async () => {
    const bucket = createTokenBucket({ rate: 10, burst: 2 }, () => performance.now());
    let throttled = 0;
    const { turn, call } = pacedCalls(10, async () => void (throttled += bucket.take() ? 0 : 1));
    const all = async () => Promise.all(Array.from({ length: 101 }, async () => turn(never).then(call)));
    expect(await seconds(all)).toBeLessThan(10.5);
    expect(throttled).toBe(0);
  });

  it('wait for calls without one: those that follow, and retries', async () => {
    const { turn, call } = pacedCalls(10, async () => undefined);
    const followed = async () => {
      await turn(never);
      for (let count = 0; count < 4; count += 1) await call();
      await turn(never);
    };
    expect(await seconds(followed)).toBeCloseTo(0.4, 1);
  });

  it('end with the signal, and the others go on', async () => {
    const { turn, call } = pacedCalls(10, async () => undefined);
    const mine = new AbortController();
    await turn(never).then(call);
    const all = [turn(mine.signal), turn(never)];
    mine.abort();
    expect(await seconds(async () => Promise.all(all))).toBeCloseTo(0.1, 1);
  });
});
