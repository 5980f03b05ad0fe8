import { describe, expect, it } from 'vitest';
import type { VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import { provenOf } from '../../../lambdas/page/proven-bar.ts';

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
