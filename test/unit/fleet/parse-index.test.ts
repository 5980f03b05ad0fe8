import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFleetIndex } from '../../../lambdas/fleet/parse-index.ts';
import { damagedCopies } from './damage.ts';
import { at, index, indexed, swept, TROUBLE } from './values.ts';

const FINDING = { ...TROUBLE, since: at() };
const { counts } = swept();
const WHOLE = {
  ...index(
    indexed('paris', {
      name: 'paris',
      provider: 'eks',
      ...(counts === undefined ? {} : { counts }),
      findings: [FINDING],
      findingCount: 4,
      server: '[2001:db8::1]:6443',
      serverAt: at(),
      workloadClusters: { readAt: at(), clusters: [{ namespace: 'n', name: 'w', serviceCidrs: ['10.96.0.0/12'] }] },
    }),
    indexed('rome'),
  ),
  dispatch: { at: at(), registered: 2, dispatched: 1, problems: [FINDING] },
};

describe('parseFleetIndex', () => {
  it('reads what was written, and ignores what it does not know', () => {
    expect(parseFleetIndex(WHOLE)).toStrictEqual(WHOLE);
    expect(parseFleetIndex({ ...WHOLE, later: 1 })).toStrictEqual(WHOLE);
  });

  it('has none where a cluster is under the id of another', () => {
    expect(parseFleetIndex({ ...WHOLE, clusters: { paris: indexed('rome') } })).toBeUndefined();
  });

  it('has none where any field is damaged', () => {
    for (const [path, damaged] of damagedCopies(WHOLE))
      expect([path, parseFleetIndex(damaged)]).toEqual([path, undefined]);
  });

  it('survives every value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseFleetIndex(value)).toBeUndefined();
      }),
      { seed: 17, numRuns: 200 },
    );
  });
});
