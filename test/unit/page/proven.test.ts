import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import { provenOf, segmentsOf, WORST_LAST } from '../../../lambdas/page/proven-bar.ts';

const countsOf = (counts: Partial<VerdictCounts>): VerdictCounts => ({
  'names-another': 0,
  'not-proven': 0,
  unknown: 0,
  proven: 0,
  ...counts,
});

describe('the number of a cluster', () => {
  it.each([
    [{ proven: 42 }, '✔ 42 of 42'],
    [{ proven: 40, unknown: 2 }, '? 40 of 42'],
    [{ unknown: 3 }, '? 0 of 3'],
    [{ proven: 40, 'not-proven': 2 }, '! 40 of 42'],
    [{ proven: 39, 'not-proven': 2, 'names-another': 1 }, '✖ 39 of 42'],
  ])('of %j is %s', (counts, expected) => {
    expect(provenOf(countsOf(counts))).toBe(expected);
  });
});

describe('the bar', () => {
  it('goes from what is proven to what is worst', () => {
    expect(segmentsOf(countsOf({ proven: 6, 'names-another': 1, unknown: 3 }), 1)).toEqual([
      { verdict: 'proven', from: 0, width: 60 },
      { verdict: 'unknown', from: 60, width: 30 },
      { verdict: 'names-another', from: 90, width: 10 },
    ]);
  });

  it('is empty where there is nothing', () => {
    expect(segmentsOf(countsOf({}), 4)).toEqual([]);
  });

  it('shows the one of a million, and never more or less than all', () => {
    const count = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 1_000_000 }));
    fc.assert(
      fc.property(fc.tuple(count, count, count, count), fc.constantFrom(1, 4), (numbers, least) => {
        const counts = countsOf(Object.fromEntries(WORST_LAST.map((verdict, index) => [verdict, numbers[index]])));
        const segments = segmentsOf(counts, least);
        expect(segments.map(({ verdict }) => verdict)).toEqual(WORST_LAST.filter((verdict) => counts[verdict] > 0));
        for (const { width } of segments) expect(width).toBeGreaterThanOrEqual(least - 1e-9);
        let at = 0;
        for (const { from, width } of segments) {
          expect(from).toBeCloseTo(at, 6);
          at = from + width;
        }
        expect(at).toBeCloseTo(segments.length === 0 ? 0 : 100, 6);
      }),
      { seed: 6 },
    );
  });
});
