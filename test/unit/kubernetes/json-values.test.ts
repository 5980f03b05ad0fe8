import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutItems, hasTooManyValues } from '../../../lambdas/kubernetes/json-values.ts';

const given = (json: string) => hasTooManyValues(Buffer.from(json));
const many = (item: string, count = 150_001) => `[${Array(count).fill(item).join(',')}]`;
const named = (count: number, name = (index: number) => `k${index}`) =>
  Array.from({ length: count }, (_, index) => `{"${name(index)}":1}`);

describe('hasTooManyValues', () => {
  test.each(['1', '[]', '{}', '""', '{"a":1}', '"\\\\"', '"\\""'])('a list of 150,001 of %s', (item) => {
    expect(given(many(item))).toBe(true);
  });

  test('a page of 500 Nodes of 240 values each, which have the same names', () => {
    const node = `{${Array.from({ length: 240 }, (_, index) => `"name-${index}":"value"`).join(',')}}`;
    expect(given(many(node, 500))).toBe(false);
  });

  test.each<[string, (index: number) => string]>([
    ['short', (index) => `${index}`],
    ['long', (index) => `${'x'.repeat(200)}${index}`],
    ['escaped', (index) => `\\u006b\\"${index}`],
    ['alike but for their beginning', (index) => `${index}${'x'.repeat(50)}`],
  ])('more different names than any page has, %s', (_, name) => {
    expect(given(`[${named(15_000, name).join(',')}]`)).toBe(false);
    expect(given(`[${named(25_000, name).join(',')}]`)).toBe(true);
    expect(given(`{"a":[${named(25_000, name).join(' ,\n')}]}`)).toBe(true);
    expect(given(`[${named(25_000, (index) => name(index % 100)).join(',')}]`)).toBe(false);
  });

  test('nothing that is in a string counts', () => {
    expect(given(JSON.stringify([many('[]'), `\\"${many('"')}`, named(50_000).join(',')]))).toBe(false);
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

/** Members of objects, at any depth. */
function members(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, one) => sum + members(one), 0);
  return inner + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

describe('cutItems', () => {
  test('replaces exactly the items of a list that have more members, whatever is in them', () => {
    const item = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue(), { minLength: 1 }));
    fc.assert(
      fc.property(fc.array(item), fc.jsonValue(), fc.nat(9), fc.boolean(), (items, other, most, isLast) => {
        const wrapped = { items: [items], ':[{"items"': other };
        const list = isLast ? { ...wrapped, metadata: wrapped, items } : { items, metadata: wrapped };
        const json = Buffer.from(JSON.stringify(list, null, isLast ? 1 : 0));
        cutItems(json, most);
        const left = items.map((one) => (members(one) > most ? null : one));
        expect(JSON.parse(json.toString())).toEqual(JSON.parse(JSON.stringify({ ...list, items: left })));
      }),
      { seed: 42 },
    );
  });

  test('keeps the length of what is no JSON', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"', ':', '\\', 'items', '"items":[{');
    fc.assert(
      fc.property(fc.string({ unit: piece }), (json) => {
        const bytes = Buffer.from(json);
        cutItems(bytes, 0);
        expect(bytes).toHaveLength(json.length);
      }),
      { seed: 42 },
    );
  });
});
