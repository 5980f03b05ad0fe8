import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, isSameJson } from '../../lambdas/same-json.ts';

describe('two values', () => {
  it.each([
    ['of fields in another order', { a: 1, b: [2] }, { b: [2], a: 1 }],
    ['of which one has an undefined field', { a: { b: undefined } }, { a: {} }],
  ])('%s are the same JSON', (_, a, b) => {
    expect([isSameJson(a, b), canonicalJson(a) === canonicalJson(b)]).toEqual([true, true]);
  });

  it.each([
    ['null and nothing', { a: null }, {}],
    ['a list and an object', [1], { 0: 1 }],
    ['a shorter list', [1, 2], [1]],
    ['an own __proto__ and none', JSON.parse('{"__proto__":{}}'), {}],
    ['a field of every object', { constructor: 'x' }, {}],
    ['a number and its text', { a: 1 }, { a: '1' }],
  ])('are not the same JSON: %s', (_, a, b) => {
    expect([isSameJson(a, b), isSameJson(b, a), canonicalJson(a) === canonicalJson(b)]).toEqual([false, false, false]);
  });

  it('are the same JSON exactly where their canonical JSON is', () => {
    const value = fc.object({
      maxDepth: 2,
      values: [fc.constantFrom('a', 1, null, true)],
      key: fc.constantFrom('a', 'b'),
    });
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(isSameJson(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
      }),
      { seed: 31, numRuns: 1000 },
    );
  });
});
