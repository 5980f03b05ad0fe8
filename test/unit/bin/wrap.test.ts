import { styleText } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { draw, hang, screenOf } from '../../../bin/terminal/draw.ts';
import { visibleWidth, wrap } from '../../../bin/terminal/wrap.ts';

describe('text on a terminal', () => {
  it.each([
    ['', 10, ['']],
    ['one two three', 7, ['one two', 'three']],
    ['one two', 7, ['one two']],
    ['a  b', 10, ['a  b']],
    ['abcdefghij', 4, ['abcd', 'efgh', 'ij']],
    ['x abcdefghij y', 4, ['x', 'abcd', 'efgh', 'ij y']],
  ])('wraps %j to %i columns', (text, width, lines) => {
    expect(wrap(text, width)).toEqual(lines);
  });

  it('counts no colour', () => {
    const red = styleText('red', 'red', { validateStream: false });
    expect(visibleWidth(red)).toBe(3);
    expect(wrap(`${red} blue`, 8)).toEqual([`${red} blue`]);
  });

  it('loses no word and keeps to the width', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
    fc.assert(
      fc.property(words, fc.integer({ min: 12, max: 40 }), (given, width) => {
        const lines = wrap(given.join(' '), width);
        expect(lines.join(' ')).toBe(given.join(' '));
        expect(Math.max(...lines.map(visibleWidth))).toBeLessThanOrEqual(width);
      }),
      { seed: 3 },
    );
  });

  it('hangs further lines under the first word', () => {
    const lines = hang('  ✖ ', 'one two three four five six');
    expect(draw(lines, { width: 24 })).toBe('  ✖ one two three four\n    five six');
    expect(draw(lines)).toBe('  ✖ one two three four five six');
    const red = styleText('red', '✖ ', { validateStream: false });
    expect(draw(hang(red, 'a'), { width: 80, colours: true })).toBe(`${red}a`);
    expect(draw(hang(red, 'a'), { width: 80 })).toBe('✖ a');
  });

  it.each([
    [{ isTTY: true, columns: 120 }, 120],
    [{ isTTY: true, columns: 0 }, 80],
    [{ columns: 120 }, undefined],
    [{ isTTY: false }, undefined],
  ])('%j has %s columns', (stream, width) => {
    expect(screenOf(stream, {}).width).toBe(width);
  });
});
