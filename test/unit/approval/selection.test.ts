import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from '../../../lambdas/approval/selection.ts';

describe('a glob of cluster names', () => {
  it.each([
    ['*', 'anything', true],
    ['', '', true],
    ['berlin', 'berlin', true],
    ['berlin', 'berlin-2', false],
    ['*-prod', 'berlin-prod', true],
    ['*-prod', 'berlin-prod-2', false],
    ['eu-*-prod', 'eu-prod', false],
    ['eu-*-prod', 'eu--prod', true],
    ['*a*b*', 'xbxaxb', true],
    ['*a*b*', 'ba', false],
    ['a.c', 'abc', false],
    ['ab*ba', 'aba', false],
    ['a*b*b', 'ab', false],
  ])('%s and %s: %s', (glob, name, expected) => {
    expect(matchesGlob(glob, name)).toBe(expected);
  });

  it('agrees with a regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-'), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, text, (parts, filler, name) => {
        const glob = parts.join('*');
        const expression = new RegExp(`^${parts.map((part) => part.replaceAll('.', '\\.')).join('.*')}$`);
        for (const candidate of [name, parts.join(filler), `${parts.join(filler)}${name}`])
          expect(matchesGlob(glob, candidate)).toBe(expression.test(candidate));
      }),
      { seed: 20_261_121, numRuns: 2_000 },
    );
  });
});
