import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { hasTooManyValues } from '../../../lambdas/kubernetes/json-values.ts';

const given = (json: string) => hasTooManyValues(Buffer.from(json));
const many = (item: string) => `[${Array(500_001).fill(item).join(',')}]`;

describe('hasTooManyValues', () => {
  test.each(['1', '[]', '{}', '""', '{"a":1}', '"\\\\"', '"\\""'])('a list of half a million of %s', (item) => {
    expect(given(many(item))).toBe(true);
  });

  test('nothing that is in a string counts', () => {
    expect(given(JSON.stringify([many('[]'), `\\"${many('"')}`]))).toBe(false);
  });

  test('any small document passes, and any piece of one', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, length) => {
        expect(given(json)).toBe(false);
        expect(given(json.slice(0, length))).toBe(false);
      }),
      { seed: 42 },
    );
  });
});
