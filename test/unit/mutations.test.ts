import { describe, expect, it } from 'vitest';
import { mutationsOf } from '../bench/mutations.ts';

/** The source after each of its mutations. */
const mutants = (source: string) =>
  mutationsOf(source).map(({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end));

describe('mutationsOf', () => {
  it.each([
    ['a < b;', ['a <= b;']],
    ['a >= b;', ['a > b;']],
    ['a === b;', ['a !== b;']],
    ['(a) && (b);', ['(a) || (b);']],
    ['(a && b) ?? c;', ['(a && b);', '(a || b) ?? c;']],
    ['!a;', ['a;']],
    ['if (a) b();', ['if (true) b();', 'if (false) b();']],
    ['a ? b : c;', ['true ? b : c;', 'false ? b : c;']],
    ['a.some(b);', ['a.every(b);']],
    ['a.filter(b).at(c);', ['a.at(c);']],
    ['f(true, 7, 0x80, 5_000);', ['f(false, 7, 0x80, 5_000);', 'f(true, 8, 0x80, 5_000);', 'f(true, 7, 129, 5_000);']],
    ["new Set<A>(['b', 'c']);", ["new Set<A>([ 'c']);", "new Set<A>(['b', ]);"]],
    ['(a as { b: 1 }) - c!;', ['(a as { b: 1 }) + c!;']],
  ])('changes %s', (source, expected) => expect(mutants(source)).toEqual(expected));

  it.each([
    "import a from 'a';",
    'type A = true | 1;',
    '// a < b',
    "'a' + b;",
    "`${n === 1 ? '' : 's'}`;",
    "throw new RangeError(a ? 'b' : 'c');",
    'f({ 1: a });',
  ])('leaves %s', (source) => expect(mutants(source)).toEqual([]));

  it('says where and what', () => {
    expect(mutationsOf('f();\nx = a <\n  b;')).toMatchObject([{ line: 2, before: 'a < b', after: 'a <= b' }]);
  });
});
