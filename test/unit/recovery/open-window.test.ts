import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RecoveryWindow, windowProblem } from '../../../lambdas/contracts/recovery-window.ts';
import { closedBecause } from '../../../lambdas/recovery/open-window.ts';
import { CLUSTER_ID, NOW, windowOf } from './fixtures.ts';

const at = (ms: number) => new Date(NOW + ms).toISOString();

const numbered = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);

describe('a window', () => {
  const rows: readonly (readonly [string, Partial<RecoveryWindow>, RegExp])[] = [
    ['an id that is none', { id: 'W 1' }, /its id/],
    ['a long id', { id: 'a'.repeat(27) }, /its id/],
    ['no time', { until: 'tomorrow' }, /RFC 3339/],
    ['an end before its beginning', { openedAt: at(0), until: at(-1) }, /before it begins/],
    ['more than an hour', { openedAt: at(0), until: at(3_600_001) }, /longer than an hour/],
    ['no nodes', { nodes: [] }, /0 nodes/],
    ['ten nodes', { nodes: Array.from({ length: 10 }, (_, n) => `cp-${n}`) }, /10 nodes/],
    ['a wildcard', { nodes: ['*'] }, /name/],
    ['a name of several', { nodes: ['cp-1,metadata.name=cp-2'] }, /name/],
    ['no approvals', { approvals: 0 }, /approvals/],
    ['half an approval', { approvals: 1.5 }, /approvals/],
    ['six approvals', { approvals: 6 }, /approvals/],
    ['a group of nodes', { bootstrapGroups: ['system:nodes'] }, /bootstrapGroups/],
    ['nine groups', { bootstrapGroups: numbered(9, 'system:bootstrappers:g') }, /bootstrapGroups/],
    ['nine windows that it replaces', { replaces: numbered(9, 'other-') }, /replaces/],
    ['the group of all bootstrappers again', { bootstrapGroups: ['system:bootstrappers:'] }, /bootstrapGroups/],
  ];
  it.each(rows)('has not %s', (_, changed, problem) => {
    expect(windowProblem(windowOf(changed))).toMatch(problem);
    expect(closedBecause(windowOf(changed), CLUSTER_ID, NOW)).toBeDefined();
  });

  it.each<[string, Partial<RecoveryWindow>]>([
    ['26 characters of an id', { id: 'a'.repeat(26) }],
    ['an hour', { openedAt: at(0), until: at(3_600_000) }],
    ['nine nodes', { nodes: numbered(9, 'cp-') }],
    ['one approval', { approvals: 1 }],
    ['five approvals', { approvals: 5 }],
    ['eight groups', { bootstrapGroups: numbered(8, 'system:bootstrappers:g') }],
    ['eight windows that it replaces', { replaces: numbered(8, 'other-') }],
  ])('may have %s', (_, changed) => {
    expect(windowProblem(windowOf(changed))).toBeUndefined();
  });

  it('is open from its first millisecond to the last before its end', () => {
    const window = windowOf({ openedAt: at(0), until: at(3_600_000) });
    fc.assert(
      fc.property(fc.integer({ min: -7_200_000, max: 7_200_000 }), (ms) => {
        expect(closedBecause(window, CLUSTER_ID, NOW + ms) === undefined).toBe(ms >= 0 && ms < 3_600_000);
      }),
      { seed: 7, examples: [[-1], [0], [3_599_999], [3_600_000]] },
    );
  });

  it('is never open for another cluster', () => {
    expect(closedBecause(windowOf(), 'other', NOW)).toBe('it is for another cluster');
  });

  it('is never open by a clock that tells nothing', () => {
    expect(closedBecause(windowOf(), CLUSTER_ID, Number.NaN)).toBeDefined();
  });
});
