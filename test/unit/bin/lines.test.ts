import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLines } from '../../../bin/lines.ts';

async function linesOf(chunks: readonly (Buffer | string)[], maxBytes = 100): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of readLines(Readable.from(chunks), maxBytes)) lines.push(line.ok ? line.text : line);
  return lines;
}

describe('the lines of a stream', () => {
  it.each([
    ['nothing', [], []],
    ['a last line without end', ['a\nb'], ['a', 'b']],
    ['a last line with its end', ['a\n', 'b\n'], ['a', 'b']],
    ['empty lines', ['\n\na\n'], ['', '', 'a']],
    ['what other programs take for ends', ['a\r\u2028\u2029\u0085\v\fb\n'], ['a\r\u2028\u2029\u0085\v\fb']],
    ['a character in two chunks', [Buffer.from([0xc3]), Buffer.from([0xb6, 0x0a])], ['ö']],
    ['half a character', [Buffer.from([0xc3, 0x0a])], [{ ok: false, problem: 'is not UTF-8' }]],
  ])('%s', async (_, chunks, lines) => {
    expect(await linesOf(chunks)).toEqual(lines);
  });

  it.each([[['abcd', 'e\nok\n']], [['abcde\nok']], [['abcdefghi', 'abcdefghi', '\n', 'ok']]])(
    'reads past a line over the limit: %j',
    async (chunks) => {
      expect(await linesOf(chunks, 4)).toEqual([{ ok: false, problem: 'is longer than 4 bytes' }, 'ok']);
    },
  );

  it('takes a line of exactly the limit', async () => {
    expect(await linesOf(['ab', 'cd\n'], 4)).toEqual(['abcd']);
  });

  it('does not depend on how the stream is cut', async () => {
    const line = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\n') && text.isWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 7 }), async (lines, size) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        expect(await linesOf(chunks, 10_000)).toEqual(lines);
      }),
      { seed: 7 },
    );
  });
});
