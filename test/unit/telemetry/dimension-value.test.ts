import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dimensionValue } from '../../../lambdas/telemetry/record-health.ts';

describe('dimensionValue', () => {
  it.each([
    ['111122223333/eu-central-1/dublin', '111122223333/eu-central-1/dublin'],
    ['mgmt/eksa-system/berlin', 'mgmt/eksa-system/berlin'],
    ['a "quoted" one', 'a "quoted" one'],
    ['a\r\nb\u2028', String.raw`a\u{d}\u{a}b\u{2028}`],
    ['münchen 🥨', String.raw`m\u{fc}nchen \u{1f968}`],
    [':colon', String.raw`\u{3a}colon`],
    ['  ', String.raw`\u{20}\u{20}`],
    ['', String.raw`\u{}`],
    ['x'.repeat(1_024), 'x'.repeat(1_024)],
  ])('makes of %j what CloudWatch takes', (text, value) => {
    expect(dimensionValue(text)).toBe(value);
  });

  it('keeps two that are too long apart', () => {
    const [a, b] = ['a', 'b'].map((end) => dimensionValue(`${'x'.repeat(1_024)}${end}`));
    expect(a).toHaveLength(1_024);
    expect(a).not.toBe(b);
  });

  it('is always valid, and the same again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1_200 }), (text) => {
        const value = dimensionValue(text);
        expect(value).toMatch(/^[\x21-\x39\x3b-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/);
        expect(dimensionValue(text)).toBe(value);
      }),
      { numRuns: 500, seed: 31 },
    );
  });
});
