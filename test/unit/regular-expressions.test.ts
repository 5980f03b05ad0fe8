import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isExponential, literalsIn } from './regular-expressions.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const LITERALS = ['lambdas', 'bin', 'lib'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      literalsIn(readFileSync(join(ROOT, folder, name), 'utf8')).map((literal) => ({
        file: join(folder, name),
        ...literal,
      })),
    ),
);

describe('no text, whoever wrote it, makes a regular expression take exponential time', () => {
  it('of those of the program', () => {
    expect(LITERALS.length).toBeGreaterThan(150);
    expect(LITERALS.filter(isExponential)).toEqual([]);
  });

  it('and none of them refers back to a group, which takes as long', () => {
    expect(
      LITERALS.filter(({ source }) => /\\[1-9]|\\k</.test(source.replaceAll(/\[(?:\\.|[^\]\\])*\]/g, ''))),
    ).toEqual([]);
  });

  it.each([
    '^(a+)+$',
    '^(a*)*$',
    '^(a|a)*b',
    '^(a|ab|b)*$',
    '^(\\w+\\s?)*$',
    '(?:[a-z]+-?)+\\d',
    '^(a?b?)*c',
    '(?=(x+x+)+y)',
    '^(?:a{1,2}){2,}$',
  ])('would be found: /%s/', (source) => {
    expect(isExponential({ source, flags: '' })).toBe(true);
  });

  it.each([
    '^(?:[a-z]+-)+\\d$',
    '^a*b*$',
    '^[a-z](?:[a-z-]{0,61}[a-z])?(?:\\.[a-z])*$',
    '(?:\\\\.|[^"\\\\])*',
    '^(?:\\d{3})+$',
    '[a-z]+',
  ])('and is not found where it is not: /%s/', (source) => {
    expect(isExponential({ source, flags: '' })).toBe(false);
  });
});
