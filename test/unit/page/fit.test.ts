import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fit } from '../../../lambdas/page/page.ts';

const piece = (short: number, full: number) => (_index: number, depth: 'full' | 'short') =>
  'x'.repeat(depth === 'full' ? full : short);

describe('fit', () => {
  it.each([
    ['all in full', 10, 10_000, { full: 10, short: 0 }],
    ['all, some in short', 10, 10 * 101 + 250, { full: 2, short: 8 }],
    ['all in short', 10, 10 * 101, { full: 0, short: 10 }],
    ['some', 10, 760, { full: 3, short: 1 }],
    ['none', 10, 60, { full: 0, short: 0 }],
    ['no cluster', 0, 60, { full: 0, short: 0 }],
    ['no room', 3, -10, { full: 0, short: 0 }],
  ])('tells %s', (_name, count, room, expected) => {
    expect(fit(count, room, piece(100, 200))).toMatchObject(expected);
  });

  it('never needs more room than there is, and never prefers what is less urgent', () => {
    const sizes = fc.array(fc.tuple(fc.integer({ min: 4, max: 300 }), fc.integer({ min: 0, max: 300 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 200, max: 8_000 }), (clusters, room) => {
        const { pieces, full, short } = fit(clusters.length, room, (index, depth) => {
          const [least = 0, more = 0] = clusters[index] ?? [];
          return 'x'.repeat(depth === 'full' ? least + more : least);
        });
        expect(pieces.map((text) => text ?? 'null').join(',').length).toBeLessThanOrEqual(room);
        expect(pieces.map((text) => text !== null)).toEqual(clusters.map((_, index) => index < full + short));
      }),
      { seed: 6 },
    );
  });
});
