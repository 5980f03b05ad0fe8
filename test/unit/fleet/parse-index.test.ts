import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IndexedCluster } from '../../../lambdas/fleet/fleet-index.ts';
import { parseFleetIndex } from '../../../lambdas/fleet/parse-index.ts';
import { damagedCopies } from './damage.ts';
import { at, auditSummary, index, indexed, MINUTE, NOW, swept, TROUBLE } from './values.ts';

const AHEAD = at(10 * MINUTE + 1);
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
      server: '[2001:db8::1]:6443/k8s/clusters/c-1',
      serverAt: at(),
      workloadClusters: {
        readAt: at(),
        clusters: [{ namespace: 'n', name: 'w', serviceCidrs: ['10.96.0.0/12'] }],
        cut: true,
      },
    }),
    indexed('rome'),
  ),
  dispatch: { at: at(), registered: 2, dispatched: 1, problems: [FINDING] },
};

describe('parseFleetIndex', () => {
  it('reads what was written, and ignores what it does not know', () => {
    expect(parseFleetIndex(WHOLE, NOW)).toStrictEqual(WHOLE);
    expect(parseFleetIndex({ ...WHOLE, later: 1 }, NOW)).toStrictEqual(WHOLE);
  });

  it('reads the audit of a cluster', () => {
    const seen = index(indexed('rome', { audit: auditSummary({ partial: true, snapshotProblem: 'S3 is down' }) }));
    expect(parseFleetIndex(seen, NOW)).toStrictEqual(seen);
  });

  it('leaves out an audit that it cannot read, and nothing else', () => {
    const audit = { ...auditSummary(), ends: [{ what: 'something-new', count: 1, notAfter: at(), where: 'x' }] };
    const read = parseFleetIndex({ ...WHOLE, clusters: { rome: { ...indexed('rome'), audit } } }, NOW);
    expect(read?.clusters).toStrictEqual({ rome: indexed('rome') });
  });

  it('has none where a cluster is under the id of another', () => {
    expect(parseFleetIndex({ ...WHOLE, clusters: { paris: indexed('rome') } }, NOW)).toBeUndefined();
  });

  it('has none where any field is damaged', () => {
    for (const [path, damaged] of damagedCopies(WHOLE))
      expect([path, parseFleetIndex(damaged, NOW)]).toEqual([path, undefined]);
  });

  it.each<[string, Partial<IndexedCluster>]>([
    ['swept', { sweptAt: AHEAD }],
    ['tried', { triedAt: AHEAD }],
    ['read', { readableAt: AHEAD }],
    ['complete', { completeAt: AHEAD }],
    ['seen behind its server', { serverAt: AHEAD }],
    ['searched', { workloadClusters: { readAt: AHEAD, clusters: [] } }],
    ['found wrong', { findings: [{ ...TROUBLE, since: AHEAD }] }],
  ])('leaves out a cluster that was %s in a time to come: no outcome would be newer', (_, changed) => {
    const seen = index(indexed('paris', changed), indexed('rome'));
    expect(Object.keys(parseFleetIndex(seen, NOW)?.clusters ?? {})).toEqual(['rome']);
    expect(Object.keys(parseFleetIndex(seen, NOW + 1)?.clusters ?? {})).toEqual(['paris', 'rome']);
  });

  it('leaves out a tick of a time to come', () => {
    expect(parseFleetIndex({ ...WHOLE, dispatch: { ...WHOLE.dispatch, at: AHEAD } }, NOW)).not.toHaveProperty(
      'dispatch',
    );
  });

  it('survives every value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseFleetIndex(value, NOW)).toBeUndefined();
      }),
      { seed: 17, numRuns: 200 },
    );
  });
});
