import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPlainWord, printable, printableStory } from '../../lambdas/printable.ts';

describe('printable', () => {
  it.each([
    ['text', 'worker-3', 'worker-3'],
    ['a bidirectional override', 'a\u202eb', 'a\\u{202e}b'],
    ['a line break', 'a\nb', 'a\\u{a}b'],
    ['a space that breaks no line', 'a\u00a0b', 'a\\u{a0}b'],
    ['a letter without ink', 'a\u2800b', 'a\\u{2800}b'],
    ['half of a pair', 'a\ud83d', 'a\ufffd'],
    ['a pair that the limit would cut', `${'x'.repeat(9)}😀`, `${'x'.repeat(9)}\ufffd…`],
  ])('makes harmless: %s', (_, text, expected) => {
    expect(printable(text, 10)).toBe(expected);
  });

  it('is well-formed, printable and bounded, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 1, max: 100 }), (text, limit) => {
        const halves = `${text}\ud83d${text}\udc00`;
        const safe = printable(halves, limit);
        expect(safe.isWellFormed()).toBe(true);
        expect(safe).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(safe.length).toBeLessThanOrEqual(limit * 2 + 1);
      }),
      { seed: 7 },
    );
  });
});

it.each([
  ['worker-3', true],
  ["a'b $(rm) c", true],
  ['-o', false],
  ['a\n→ rm -rf ~', false],
  ['a → b', false],
  ['\u001b[2J', false],
  ['a\u202eb', false],
])('%j as a word of a command of ours: %s', (text, isPlain) => {
  expect(isPlainWord(text)).toBe(isPlain);
});

it('no reader makes a link of what a server says', () => {
  expect(printableStory('fix at https://evil.example/x\n', 100)).toBe('fix at https[:]//evil.example/x\\u{a}');
});
