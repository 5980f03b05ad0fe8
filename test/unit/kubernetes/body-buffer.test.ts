import { array, assert, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { createBodyBuffer } from '../../../lambdas/kubernetes/exchange.ts';

const KIB = 1024;

test('gives back what was added, whatever the pieces', () => {
  assert(
    property(array(uint8Array({ maxLength: 20 * KIB })), (arrays) => {
      const pieces = arrays.map((bytes) => Buffer.from(bytes));
      const body = createBodyBuffer();
      for (const piece of pieces) body.add(piece);
      expect(body.bytes().equals(Buffer.concat(pieces))).toBe(true);
    }),
    { seed: 20_261_121, numRuns: 200 },
  );
});

test.each([1, 1_000, 16 * KIB, 64 * KIB])('pieces of %i bytes take at most twice their bytes', (size) => {
  const body = createBodyBuffer();
  const piece = Buffer.alloc(size, 'x');
  let worst = 0;
  for (let bytes = size; bytes <= 300 * KIB; bytes += size) {
    body.add(piece);
    worst = Math.max(worst, body.bytes().buffer.byteLength / Math.max(16 * KIB, 2 * bytes));
  }
  expect(worst).toBeGreaterThan(0);
  expect(worst).toBeLessThanOrEqual(1);
});

test('keeps a copy, not the buffer of the socket', () => {
  const body = createBodyBuffer();
  const piece = Buffer.from('a');
  body.add(piece);
  piece.write('b');
  expect(body.bytes().toString()).toBe('a');
});
