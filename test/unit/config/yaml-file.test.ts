import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml, type YamlFile } from '../../../lambdas/config/yaml-file.ts';

function readable(text: string): Extract<YamlFile, { ok: true }> {
  const file = readYaml(text);
  if (!file.ok) throw new Error(JSON.stringify(file.problems));
  return file;
}

describe('readYaml', () => {
  it('reads plain data, with aliases expanded', () => {
    const { value, problems } = readable('a: &x [1, yes, ~]\nb: *x\nc: { d: "e" }\n__proto__: 1\n');
    expect(value).toEqual(JSON.parse('{"a":[1,"yes",null],"b":[1,"yes",null],"c":{"d":"e"},"__proto__":1}'));
    expect(problems).toEqual([]);
  });

  it('takes an alias for the last anchor of its name above it', () => {
    expect(readable('- &a [&b 1]\n- &b 2\n- *a\n- *b\n').value).toEqual([[1], 2, [1], 2]);
  });

  it.each([
    ['a scalar at itself', ['list', 1, 'key'], 'value', { line: 3, column: 13 }],
    ['a list at its key', ['list'], 'value', { line: 2, column: 1 }],
    ['an entry at its first character', ['list', 1], 'value', { line: 3, column: 6 }],
    ['a key at itself', ['list', 1, 'key'], 'key', { line: 3, column: 8 }],
    ['nothing at its key', ['none'], 'value', { line: 4, column: 1 }],
    ['what is missing at what is above it', ['list', 1, 'other', 'more'], 'value', { line: 3, column: 6 }],
    ['a missing top-level key at the start of the data', ['other'], 'value', { line: 2, column: 1 }],
  ] as const)('places %s', (_, path, at, position) => {
    const { positionOf } = readable('# comment\nlist: [\n  0, { key: x } ]\nnone:\n');
    expect(positionOf(path, at)).toEqual(position);
  });

  it('places what is wrong below an alias where it is written', () => {
    const { positionOf } = readable('a: &x\n  k: 1\nb: *x\n');
    expect(positionOf(['b', 'k'])).toEqual({ line: 2, column: 6 });
    expect(positionOf(['b'])).toEqual({ line: 3, column: 4 });
  });

  it.each([
    ['CRLF', 'a: 1\r\nb: [\r\n  2 ]\r\n', { line: 3, column: 3 }],
    ['a byte order mark', '\uFEFFa: 1\nb: [\n  2 ]\n', { line: 3, column: 3 }],
  ])('counts lines with %s', (_, text, position) => {
    expect(readable(text).positionOf(['b', 0])).toEqual(position);
  });

  it('keeps the first of two keys and reports the second', () => {
    const { value, problems } = readable('a: 1\n"a": 2\n');
    expect(value).toEqual({ a: 1 });
    expect(problems).toEqual([{ line: 2, column: 1, message: 'key "a" appears twice; keep one of the two' }]);
  });

  it.each([
    ['5: x', 1, 1],
    ['a: 1\n? [b]\n: 2', 2, 3],
    ['~: 1', 1, 1],
    ['&k a: 1\n*k : 2', 2, 1],
  ])('reports a key that is not text: %j', (text, line, column) => {
    const message = 'a key that is not text; every key of this file is a word';
    expect(readable(text).problems).toEqual([{ line, column, message }]);
  });

  it('reports an alias without an anchor', () => {
    expect(readable('a: *b').problems).toEqual([
      { line: 1, column: 4, message: '*b is read as an alias; put a value that starts with "*" in quotes' },
    ]);
  });

  const tooDeep = 'nested more than 16 levels deep; no part of this file needs that';
  const tooMany = 'more than 50000 values, aliases expanded; split it into two deployments';

  it.each([
    [
      'a second document',
      'a: 1\n---\nb: 2\n',
      2,
      1,
      'a second YAML document starts here; one file holds one document, so remove this line',
    ],
    ['an unknown tag', 'a: !secret x', 1, 4, 'not valid YAML: Unresolved tag: !secret'],
    ['a set', 'a: !!set {b}', 1, 4, 'not valid YAML: Unresolved tag: tag:yaml.org,2002:set'],
    ['17 levels', `${'['.repeat(18)}${']'.repeat(18)}`, 1, 18, tooDeep],
    ['more levels than the stack has', '- '.repeat(5000), 1, 1, tooDeep],
    ['an alias of itself', '&a [*a]', 1, 5, tooDeep],
    ['too many values', `[${'1,'.repeat(50_000)}]`, 1, 100_000, tooMany],
    ['a few aliases that mean millions', bomb(), 6, 12, tooMany],
    [
      'more than 1 MiB',
      '#'.repeat(1024 * 1024 + 1),
      1,
      1,
      'the file is larger than 1 MiB; split it into two deployments',
    ],
    [
      'more than 1 MiB in UTF-8',
      '€'.repeat(400_000),
      1,
      1,
      'the file is larger than 1 MiB; split it into two deployments',
    ],
  ])('refuses %s', (_, text, line, column, message) => {
    expect(readYaml(text)).toEqual({ ok: false, problems: [{ line, column, message }] });
  });

  it('accepts a file of exactly 1 MiB', () => {
    expect(readable('#'.repeat(1024 * 1024)).value).toBeNull();
  });

  const indented =
    'the indentation does not fit the lines above; start all keys of one section, and all "-" of one list, in one column';
  const colon = 'this key has no colon and space after it; write, for example, "name: berlin"';
  const deeper = 'the next line is indented deeper than the key of this one; start both in one column';
  const ended = 'the value before this has ended; put the whole value in quotes, or indent this line like those above';
  const comma = 'a comma is missing between two entries, or a bracket or brace is not closed; add it';

  it.each([
    ['a tab', 'a:\n\t- b', 2, 1, 'a tab indents this line; use spaces'],
    ['a tab after spaces', 'a:\n  - b: 1\n  \tc: 2', 3, 1, 'a tab indents this line; use spaces'],
    ['no space after a colon', 'a:\n  - b:1\n    c: 2', 2, 5, colon],
    ['no space after the last colon', 'a: 1\nb:2', 2, 1, colon],
    ['no colon', 'a\nb: 1', 1, 1, colon],
    ['a key that begins too early', 'a:\n  - b: 1\n  c: 2', 3, 1, indented],
    ['a key between two columns', 'a:\n  - b: 1\n   c: 2', 3, 1, indented],
    ['a dash that begins too early', 'a:\n  - b: 1\n - c: 2', 3, 1, indented],
    ['a key that begins too late', 'a:\n  b: 1\n   c: 2', 2, 6, deeper],
    ['a value with a colon', 'a: b: c', 1, 4, 'a value with ": " in it needs quotes'],
    ['an open double quote', 'a:\n  b: "1\n  c: 2\n', 2, 6, 'this quote is not closed; add the second one'],
    ['an open single quote', "a:\n  b: '1\n  c: 2\n", 2, 6, 'this quote is not closed; add the second one'],
    ['an open bracket', 'a:\n  b: [1,\nc: 2\n', 2, 6, 'this "[" is not closed; add "]"'],
    ['an open brace', 'a: { b: 1\nc: 2\n', 1, 4, 'this "{" is not closed; add "}"'],
    ['an open quote in a brace', "a: { b: '1, c: 2 }\n", 1, 9, 'this quote is not closed; add the second one'],
    ['a bracket too many', 'a: [1]]', 1, 7, 'this bracket or brace was not opened; remove it'],
    ['no comma in a list', 'a: ["b" "c"]', 1, 9, comma],
    ['no comma in a brace', 'a: { b: 1 c: 2 }', 1, 9, comma],
    ['a quote in quotes', "a: 'it's'", 1, 8, ended],
    ['text after a brace', 'a: {node}.corp', 1, 10, ended],
    ['a comment without space', 'a: "b"#c', 1, 7, 'a space is missing before "#"; add it, or put the text in quotes'],
    ['@', 'a: @b', 1, 4, 'this value starts with a character that YAML reserves; put it in quotes'],
    ['a star', 'a: *', 1, 4, 'a value that starts with "*" needs quotes'],
    [
      'an escape',
      String.raw`a: "\d"`,
      1,
      5,
      String.raw`an unknown escape in double quotes; write \\ for a backslash, or use single quotes`,
    ],
    ['a rare one in the words of the parser', 'a: &', 1, 4, 'not valid YAML: Anchor cannot be an empty string'],
  ])('says in plain words: %s', (_, text, line, column, message) => {
    expect(readYaml(text)).toEqual({ ok: false, problems: [{ line, column, message }] });
  });

  it('reports the first syntax error of each line, at most twenty', () => {
    expect(readYaml('a: [1\nb: {').problems).toHaveLength(2);
    expect(readYaml(']'.repeat(1000)).problems).toHaveLength(1);
    expect(readYaml(']\n'.repeat(1000)).problems).toHaveLength(20);
  });

  it('never throws', () => {
    const parts = fc.constantFrom(': ', '  ', '- ', ', ', ...'a:\n\t[]{}"\'*&#|'.split(''));
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 40 }), (text) => {
        const { ok, problems } = readYaml(text.join(''));
        expect(ok || problems.length > 0).toBe(true);
        for (const { line, column } of problems) expect(Math.min(line, column)).toBeGreaterThan(0);
      }),
    );
  });
});

/** 10 ** 6 values in seven lines. */
function bomb(): string {
  const lines = Array.from({ length: 6 }, (_, level) => `- &l${level + 1} [${`*l${level},`.repeat(10)}]`);
  return ['- &l0 x', ...lines].join('\n');
}
