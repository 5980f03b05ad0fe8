import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { position, ZONES } from '../../../lambdas/page/scale.ts';
import { DAY_MS } from '../../../lambdas/time.ts';

const NOW = Date.parse('2026-11-22T02:00:00Z');
const at = (days: number) => position(NOW + days * DAY_MS, NOW);

describe('position', () => {
  it('stands what has ended at the left edge and what comes late at the right one', () => {
    expect(at(-400)).toBeLessThan(ZONES.ended.until);
    expect(at(0)).toBeLessThan(ZONES.ended.until);
    expect(at(366)).toBeGreaterThan(ZONES.later.from);
    expect(at(365)).toBeCloseTo(ZONES.ahead.until);
  });

  it('gives the next 30 days about as much room as the 11 months after them', () => {
    const { from, until } = ZONES.ahead;
    expect((at(30) - from) / (until - from)).toBeGreaterThan(0.4);
    expect((at(30) - from) / (until - from)).toBeLessThan(0.6);
  });

  it('never puts what ends later further left', () => {
    const days = fc.double({ min: -1_000, max: 10_000, noNaN: true });
    fc.assert(
      fc.property(days, days, (a, b) => {
        const [first, second] = [Math.min(a, b), Math.max(a, b)];
        expect(at(first)).toBeLessThanOrEqual(at(second));
        expect(at(second)).toBeLessThanOrEqual(100);
        expect(at(first)).toBeGreaterThanOrEqual(0);
      }),
      { seed: 6 },
    );
  });
});
