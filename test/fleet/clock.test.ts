import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fastClock, steppedClock } from './clock.ts';

const START = Date.UTC(2026, 0, 1);

describe('a stepped clock', () => {
  it('stands still until it is advanced', async () => {
    const clock = steppedClock(START);
    expect(clock.now()).toBe(START);
    await clock.advance(1500);
    expect(clock.now()).toBe(START + 1500);
  });

  it('wakes sleepers at their times, in their order, and those that sleep again within the step', async () => {
    const clock = steppedClock(START);
    const woken: [string, number][] = [];
    const sleeper = async (name: string, ...naps: readonly number[]): Promise<void> => {
      for (const nap of naps) {
        await clock.sleep(nap);
        woken.push([name, clock.now() - START]);
      }
    };
    const all = Promise.all([sleeper('slow', 300), sleeper('quick', 100, 100, 150)]);
    await clock.advance(1000);
    await all;
    expect(woken).toEqual([
      ['quick', 100],
      ['quick', 200],
      ['slow', 300],
      ['quick', 350],
    ]);
  });

  it('does not wake who has longer to sleep', async () => {
    const clock = steppedClock(START);
    let isAwake = false;
    const sleep = clock.sleep(1000).then(() => (isAwake = true));
    await clock.advance(999);
    expect(isAwake).toBe(false);
    await clock.advance(1);
    await sleep;
    expect(isAwake).toBe(true);
  });

  it('does not move on during work that takes real time', async () => {
    const clock = steppedClock(START);
    const seen: number[] = [];
    const worker = (async () => {
      await clock.sleep(100);
      await clock.during(new Promise((resolve) => setTimeout(resolve, 20)));
      seen.push(clock.now() - START);
      await clock.sleep(100);
      seen.push(clock.now() - START);
    })();
    await clock.advance(10_000);
    await worker;
    expect(seen).toEqual([100, 200]);
  });

  it('passes on how work ended', async () => {
    const clock = steppedClock(START);
    await expect(clock.during(Promise.resolve('done'))).resolves.toBe('done');
    await expect(clock.during(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});

describe.each([
  { name: 'stepped', create: () => steppedClock(START) },
  { name: 'fast', create: () => fastClock(START, 1000) },
])('sleep of a $name clock', ({ create }) => {
  it('ends with the reason of the signal', async () => {
    const controller = new AbortController();
    const sleep = create().sleep(3_600_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
  });

  it('does not begin when the signal is aborted already', async () => {
    await expect(create().sleep(0, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});

describe('a fast clock', () => {
  it('runs at its speed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = fastClock(START, 1000);
    let isAwake = false;
    const sleep = clock.sleep(20_000).then(() => (isAwake = true));
    await vi.advanceTimersByTimeAsync(19);
    expect([isAwake, clock.now() - START]).toEqual([false, 19_000]);
    await vi.advanceTimersByTimeAsync(1);
    await sleep;
    expect(clock.now() - START).toBe(20_000);
  });
});
