import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCut, printableName } from '../../lambdas/printable-name.ts';

describe('printableName', () => {
  it.each([
    ['a name that fits', 'worker-3', 'worker-3'],
    ['a line break', 'a\nb', 'a\\u{a}b'],
    ['one that is too long', 'x'.repeat(31), `${'x'.repeat(13)}~0f46e4b0802fee6f`],
  ])('makes harmless: %s', (_, name, expected) => {
    expect(printableName(name, 30)).toBe(expected);
    expect(isCut(expected)).toBe(name.length > 30);
  });

  it('is well-formed, printable and within its limit, and keeps two names apart', () => {
    const name = fc.string({ unit: 'binary', maxLength: 60 });
    fc.assert(
      fc.property(name, name, fc.integer({ min: 20, max: 100 }), (start, end, limit) => {
        const [one, other] = [`${start}😀${start}${end}1`, `${start}😀${start}${end}2`].map((each) =>
          printableName(each, limit),
        );
        expect(one).not.toBe(other);
        expect(one?.isWellFormed()).toBe(true);
        expect(one).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(one?.length).toBeLessThanOrEqual(limit);
      }),
      { seed: 12 },
    );
  });
});
