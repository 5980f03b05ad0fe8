import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  filterInSteps,
  finished,
  flatMapInSteps,
  groupInSteps,
  mapInSteps,
  type Steps,
  sortInSteps,
} from '../../lambdas/steps.ts';

const NUMBERS = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 1013);

it('give what the functions of arrays give', () => {
  expect(finished(mapInSteps(NUMBERS, (n) => n + 1))).toEqual(NUMBERS.map((n) => n + 1));
  expect(finished(filterInSteps(NUMBERS, (n) => n > 500))).toEqual(NUMBERS.filter((n) => n > 500));
  expect(finished(flatMapInSteps(NUMBERS, (n) => [n, n]))).toEqual(NUMBERS.flatMap((n) => [n, n]));
  expect(finished(groupInSteps(NUMBERS, (n) => n % 10))).toEqual(Map.groupBy(NUMBERS, (n) => n % 10));
});

it('sort as an array does, and keep the order of equals', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.constantFrom(0, 1, 1024, 1025, 4000), (some, more) => {
      const items = [...some, ...NUMBERS.slice(0, more)].map((key, index) => ({ key, index }));
      const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(finished(sortInSteps(items, byKey))).toEqual(items.toSorted(byKey));
    }),
    { seed: 1, numRuns: 50 },
  );
});

it.each<[string, (look: () => void) => Steps<unknown>, number]>([
  ['map', (look) => mapInSteps(NUMBERS, look), 64],
  ['sort', (look) => sortInSteps(NUMBERS, (a, b) => (look(), a - b)), 1024 * 11],
])('%s yields often', (_, steps, most) => {
  let since = 0;
  let longest = 0;
  const running = steps(() => {
    since += 1;
    longest = Math.max(longest, since);
  });
  while (running.next().done !== true) since = 0;
  expect(longest).toBeLessThanOrEqual(most);
});
