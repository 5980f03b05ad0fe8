import { describe, expect, it } from 'vitest';
import {
  formatHoldMark,
  formatRolloutMark,
  parseHoldMark,
  parseRolloutMark,
} from '../../../lambdas/contracts/rollout-mark.ts';
import { CHECK_IDS } from '../../../lambdas/rollout/checks.ts';
import { HOLD_IDS, holdReason } from '../../../lambdas/rollout/hold-reasons.ts';
import { holdOf, markOf, rolloutId, startOf, startOfMark } from '../../../lambdas/rollout/rollout-mark.ts';
import { CLUSTER_ID, MINUTE, NOW } from './fixtures.ts';

describe('the mark of a rollout', () => {
  const start = startOf(NOW + 789);
  const mark = markOf(CLUSTER_ID, start, 'certificates end soon', 'person');

  it('says when it began: five seconds ago, in whole seconds', () => {
    expect(start).toBe(NOW - 5000);
    expect(mark.start).toBe('2026-11-28T02:29:55Z');
    expect(startOfMark(mark)).toBe(start);
    expect(startOfMark({ ...mark, start: 'soon' })).toBeUndefined();
  });

  it('has one id for one cluster and start, that a person can read', () => {
    expect(mark.id).toBe(rolloutId(CLUSTER_ID, mark.start));
    expect(mark.id).toMatch(/^20261128-[0-9a-f]{10}$/);
    expect(rolloutId('dublin', mark.start)).not.toBe(mark.id);
    expect(rolloutId(CLUSTER_ID, '2026-11-28T02:29:56Z')).not.toBe(mark.id);
  });

  it('is read as it was written, whatever the words', () => {
    const hostile = markOf(CLUSTER_ID, start, `\u202e${'x'.repeat(5000)}`, 'schedule');
    for (const one of [mark, hostile]) expect(parseRolloutMark(formatRolloutMark(one))).toEqual(one);
    const hold = holdOf(mark, [holdReason('stuck', 'Machine a\nb', '\u0007'.repeat(900))], NOW + MINUTE);
    expect(hold).toMatchObject({ id: mark.id, at: '2026-11-28T02:31:00Z', reason: 'stuck' });
    expect(parseHoldMark(formatHoldMark(hold))).toEqual(hold);
  });
});

describe('reasons to hold', () => {
  it('have names of pages, other ones than checks', () => {
    for (const id of Object.keys(HOLD_IDS)) expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(CHECK_IDS.filter((id) => id in HOLD_IDS)).toEqual([]);
  });
});
