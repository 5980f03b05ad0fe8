import { expect, it } from 'vitest';
import { compare, counted, firstOf } from '../../../lambdas/words.ts';

it.each([
  ['a', 'b', -1],
  ['a', 'a', 0],
  ['b', 'a', 1],
])('compares %s with %s', (a, b, expected) => expect(compare(a, b)).toBe(expected));

it.each([
  [0, '0 places'],
  [1, '1 place'],
  [2, '2 places'],
  [Number.POSITIVE_INFINITY, 'some places'],
])('counts %d', (count, words) => expect(counted(count, 'place')).toBe(words));

it.each([
  [['a', 'b', 'c'], 'a, b, c'],
  [['a', 'b', 'c', 'd'], 'a, b, c, d'],
  [['a', 'b', 'c', 'd'.repeat(21)], 'a, b, c and 1 more'],
  [['a', 'b', 'c', 'd', 'e'], 'a, b, c and 2 more'],
])('names the first of %j', (names, words) => expect(firstOf(names)).toBe(words));
