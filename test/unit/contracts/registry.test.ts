import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRegistry } from '../../../lambdas/contracts/registry.ts';
import { damagedCopies } from '../fleet/damage.ts';
import { at, BERLIN, DAY, DUBLIN, MINUTE, NOW, PARIS, registered, registry, TROUBLE } from '../fleet/values.ts';

const WHOLE = {
  ...registry(
    registered(DUBLIN.id, { target: DUBLIN, missingSince: at(), untagged: true, problem: TROUBLE }),
    registered(BERLIN.id, { target: BERLIN, source: 'cluster-api mgmt', managesClusters: ['eksa-system'] }),
    registered('rome', { problem: TROUBLE }),
  ),
  sources: {
    'fleet.yaml': { triedAt: at(), readAt: at() },
    'eks 111122223333/eu-central-1': { triedAt: at(), problem: TROUBLE },
  },
};

describe('parseRegistry', () => {
  it('reads what was written, and ignores what it does not know', () => {
    expect(parseRegistry(WHOLE, NOW)).toEqual(WHOLE);
    expect(parseRegistry({ ...WHOLE, later: 1 }, NOW)).toEqual(WHOLE);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'registry'],
    ['another version', { ...WHOLE, version: 2 }],
    ['a source named as none is', { ...WHOLE, sources: { '\u0000': { triedAt: at() } } }],
    ['a cluster named as none is', { ...WHOLE, clusters: { '../x': registered('../x') } }],
    ['a cluster under the id of another', { ...WHOLE, clusters: { rome: registered('paris') } }],
    ['a cluster with the target of another', { ...WHOLE, clusters: { rome: registered('rome', { target: DUBLIN }) } }],
  ])('has none in %s', (_, value) => {
    expect(parseRegistry(value, NOW)).toBeUndefined();
  });

  it('has no member of every object', () => {
    const value: unknown = JSON.parse(
      `{"version":1,"writtenAt":"${at()}","sources":{"__proto__":{}},"clusters":{"__proto__":{}}}`,
    );
    expect(parseRegistry(value, NOW)).toEqual({ version: 1, writtenAt: at(), sources: {}, clusters: {} });
  });

  it('has none where any field is damaged', () => {
    for (const [path, damaged] of damagedCopies(WHOLE))
      expect([path, parseRegistry(damaged, NOW)]).toEqual([path, undefined]);
  });

  it('takes times that are ahead as now, so that a cluster is neither young, nor seen, nor missing for ever', () => {
    const times = (ms: number) => ({ foundAt: at(ms), seenAt: at(ms), missingSince: at(ms) });
    const read = (ms: number) => parseRegistry(registry(registered('paris', { target: PARIS, ...times(ms) })), NOW);
    expect(read(365 * DAY)?.clusters['paris']).toMatchObject({ target: PARIS, ...times(0) });
    expect(read(10 * MINUTE)?.clusters['paris']).toMatchObject(times(10 * MINUTE));
  });

  it('survives every value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseRegistry(value, NOW)).toBeUndefined();
      }),
      { seed: 16, numRuns: 200 },
    );
  });
});
