import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hintDue } from '../../../lambdas/fleet/hints.ts';
import { NOW } from './values.ts';

describe('hintDue', () => {
  it('is when the request may be judged, and at most three seconds later', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 900 }), (ms, age) => {
        const due = hintDue(NOW + ms, age);
        const earliest = NOW + ms + age * 1_000;
        expect(due >= earliest && due < earliest + 3_000).toBe(true);
        expect(due % 3_000).toBe(0);
      }),
      { seed: 18 },
    );
  });

  it('is the same for hints of the same three seconds', () => {
    expect(new Set([1, 1_500, 3_000].map((ms) => hintDue(NOW + ms, 120)))).toEqual(new Set([NOW + 123_000]));
    expect(hintDue(NOW + 3_001, 120)).toBe(NOW + 126_000);
  });
});
