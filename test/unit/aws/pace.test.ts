import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AwsError, type AwsErrorKind } from '../../../lambdas/aws/errors.ts';
import { createPace } from '../../../lambdas/aws/pace.ts';

const never = new AbortController().signal;

function failed(kind: AwsErrorKind): AwsError {
  return new AwsError({ kind, object: 'test:Call', problem: 'of the test', remedy: 'None.' });
}

/** The token bucket of a service, and what it has counted. */
function bucket(perSecond: number, burst: number, latency = 80) {
  let tokens = burst;
  let filled = performance.now();
  const counts = { calls: 0, throttled: 0 };
  const call = async (): Promise<void> => {
    counts.calls += 1;
    tokens = Math.min(burst, tokens + ((performance.now() - filled) / 1000) * perSecond);
    filled = performance.now();
    const taken = tokens >= 1;
    if (taken) tokens -= 1;
    else counts.throttled += 1;
    await new Promise((resolve) => setTimeout(resolve, latency));
    if (!taken) throw failed('throttled');
  };
  return { call, counts };
}

/** How many seconds of the test's clock it takes. */
async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  const state = { ended: -1 };
  const done = work().finally(() => {
    state.ended = performance.now();
  });
  done.catch(() => undefined);
  while (state.ended < 0) await vi.advanceTimersByTimeAsync(10);
  await done;
  return (state.ended - started) / 1000;
}

const hundred = (call: () => Promise<void>) => {
  const pace = createPace(10);
  return () => Promise.all(Array.from({ length: 101 }, () => pace(call, never)));
};

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

describe('createPace', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('makes a list and 100 descriptions in ten seconds, with nothing throttled at that rate', async () => {
    const { call, counts } = bucket(10, 2);
    expect(await seconds(hundred(call))).toBeLessThan(10.5);
    expect(counts).toEqual({ calls: 101, throttled: 0 });
  });

  it.each([
    [8, 1, 20],
    [5, 1, 35],
    [2, 1, 90],
  ])('fails none where only %i calls a second are served', async (perSecond, burst, most) => {
    const { call, counts } = bucket(perSecond, burst);
    expect(await seconds(hundred(call))).toBeLessThan(most);
    expect(counts.calls - counts.throttled).toBe(101);
    expect(counts.throttled).toBeLessThan(80);
  });

  it('slows down once for calls that were throttled together', async () => {
    const starts: number[] = [];
    const pace = createPace(10);
    const call = async () => {
      starts.push(performance.now());
      await new Promise((resolve) => setTimeout(resolve, 350));
      if (starts.length <= 4) throw failed('throttled');
    };
    await seconds(() => Promise.all([1, 2, 3].map(() => pace(call, never))));
    const longest = Math.max(...starts.slice(1).map((start, index) => start - (starts[index] ?? 0)));
    expect(longest).toBeLessThan(400);
  });

  it('gives up a call that is always throttled, after 12 tries', async () => {
    const call = vi.fn<() => Promise<never>>(async () => {
      throw failed('throttled');
    });
    await expect(seconds(() => createPace(10)(call, never))).rejects.toMatchObject({ kind: 'throttled' });
    expect(call).toHaveBeenCalledTimes(12);
  });

  it.each([
    ['unavailable', 3],
    ['denied', 1],
    ['aborted', 1],
    ['not-found', 1],
  ] as const)('tries what is %s %i times in all', async (kind, times) => {
    const call = vi.fn<() => Promise<never>>(async () => {
      throw failed(kind);
    });
    await expect(seconds(() => createPace(10)(call, never))).rejects.toMatchObject({ kind });
    expect(call).toHaveBeenCalledTimes(times);
  });

  it('lets nobody wait for his turn after his signal, and the others go on', async () => {
    const pace = createPace(10);
    const mine = new AbortController();
    const call = async () => performance.now();
    const first = pace(call, never);
    const second = pace(async () => {
      if (mine.signal.aborted) throw failed('aborted');
      return 0;
    }, mine.signal).catch((error: unknown) => error);
    const third = pace(call, never);
    mine.abort();
    expect(await seconds(() => Promise.all([first, second, third]))).toBeLessThanOrEqual(0.11);
    expect(await second).toMatchObject({ kind: 'aborted' });
    expect((await third) - (await first)).toBeCloseTo(100, 0);
  });
});
