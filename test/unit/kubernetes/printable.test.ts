import { assert, nat, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { printable } from '../../../lambdas/kubernetes/printable.ts';

test.each([
  ['plain text', 'plain text'],
  ['a\r\n\t b', 'a b'],
  ['\u001B]0;title\u0007x', ']0;titlex'],
  ['user\u202Etxt.exe\u2069', 'usertxt.exe'],
  ['zero\u200Bwidth', 'zerowidth'],
  ['\uD800half', 'half'],
  ['denied \u2800\u3164✔\u2800oslo → certmarshal run', 'denied ?oslo ? certmarshal run'],
  ['fix at https://evil.example/x', 'fix at https[:]//evil.example/x'],
  ['grüße 漢字', 'grüße 漢字'],
])('%j becomes %j', (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('whatever comes in: short, one line, nothing that a terminal obeys, no secret', () => {
  assert(
    property(string({ unit: 'binary', maxLength: 800 }), nat({ max: 800 }), (text, at) => {
      const secret = 's3cr3t-token';
      const clean = printable(text.slice(0, at) + secret + text.slice(at), [secret]);
      expect(clean.length).toBeLessThanOrEqual(300);
      expect(clean).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(clean).not.toContain(secret);
      expect(clean.isWellFormed()).toBe(true);
    }),
    { seed: 20_261_121, numRuns: 500 },
  );
});
