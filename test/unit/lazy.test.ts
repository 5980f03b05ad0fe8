import { expect, it } from 'vitest';
import { lazy } from '../../lambdas/lazy.ts';

it('loads a function at its first call, and once', async () => {
  let loads = 0;
  const add = lazy(async () => {
    loads += 1;
    return async (one: number, two: number) => one + two;
  });
  expect(loads).toBe(0);
  expect(await Promise.all([add(1, 2), add(3, 4)])).toEqual([3, 7]);
  expect(loads).toBe(1);
});
