import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createWriteLimiter, type WriteLimiter } from '../../../lambdas/approval/act.ts';

const running = async (limiter: WriteLimiter, task: () => Promise<void>) => {
  await limiter.enter();
  await task().finally(() => limiter.leave());
};

/** Tasks that end when they are told to. */
function tasks() {
  const ends: (() => void)[] = [];
  return {
    task: () => new Promise<void>((resolve) => ends.push(resolve)),
    get running() {
      return ends.length;
    },
    async endOne() {
      ends.shift()?.();
      // The limiter goes on in the microtasks that follow.
      await nextTurn();
    },
  };
}

describe('createWriteLimiter', () => {
  it('starts with 32 in flight and takes one more for ten answers', async () => {
    const work = tasks();
    const limiter = createWriteLimiter(() => 0);
    const all = Array.from({ length: 200 }, () => running(limiter, work.task));
    await nextTurn();
    expect(work.running).toBe(32);
    const limits: number[] = [];
    for (let ended = 0; ended < 20; ended += 1) limits.push(await work.endOne().then(() => limiter.limit));
    expect([limits.indexOf(33), limits.indexOf(34), work.running]).toEqual([9, 19, 34]);
    while (work.running > 0) await work.endOne();
    await Promise.all(all);
    const again = Array.from({ length: limiter.limit }, () => running(limiter, work.task));
    await nextTurn();
    expect(work.running).toBe(limiter.limit);
    while (work.running > 0) await work.endOne();
    await Promise.all(again);
  });

  it('never has more than 64 in flight', async () => {
    const work = tasks();
    const limiter = createWriteLimiter(() => 0);
    const all = Array.from({ length: 1_500 }, () => running(limiter, work.task));
    await nextTurn();
    let most = 0;
    while (work.running > 0) {
      most = Math.max(most, work.running);
      await work.endOne();
    }
    await Promise.all(all);
    expect({ most, limit: limiter.limit }).toEqual({ most: 64, limit: 64 });
  });

  it('halves for each time the server asks to slow down, and never stops', async () => {
    let throttled = 0;
    const work = tasks();
    const limiter = createWriteLimiter(() => throttled);
    const all = Array.from({ length: 100 }, () => running(limiter, work.task));
    await nextTurn();
    const limits = [];
    for (let time = 0; time < 6; time += 1) {
      throttled += 1;
      await work.endOne();
      limits.push(limiter.limit);
    }
    expect(limits).toEqual([16, 8, 4, 2, 1, 1]);
    for (let ended = 0; ended < 9; ended += 1) await work.endOne();
    expect(limiter.limit).toBe(1);
    await work.endOne();
    expect(limiter.limit).toBe(2);
    while (work.running > 0) await work.endOne();
    await Promise.all(all);
  });
});
