import { expect, it } from 'vitest';
import { compare, counted, firstOf, isoOf } from '../../../lambdas/words.ts';

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

it.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [-6e14, '0000-01-01T00:00:00.000Z'],
  [6e14, '9999-12-31T23:59:59.999Z'],
  [Number.NEGATIVE_INFINITY, '0000-01-01T00:00:00.000Z'],
  [Number.NaN, '9999-12-31T23:59:59.999Z'],
])('writes %d as RFC 3339 can', (time, text) => expect(isoOf(time)).toBe(text));
