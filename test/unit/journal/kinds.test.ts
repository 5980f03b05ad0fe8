import { describe, expect, it } from 'vitest';
import { entryKey } from '../../../lambdas/journal/head.ts';
import type { JournalEntry } from '../../../lambdas/journal/journal.ts';
import { searchJournal } from '../../../lambdas/journal/search.ts';
import { verifyJournal } from '../../../lambdas/journal/verify.ts';
import { CLUSTER, entry, memoryBucket, never, person, rollout, writerOf } from './values.ts';

const LATER = '2026-11-21T10:05:00.000Z';

describe('one chain of decisions, rollouts and what persons decided', () => {
  it('is kept, verified and searched as any other', async () => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(CLUSTER, [entry(1), rollout(), person()], never);
    const { chains, strays } = await verifyJournal(bucket.store, {}, never);
    expect([...chains.flatMap(({ problems }) => problems), ...strays]).toEqual([]);
    expect(chains).toMatchObject([{ cluster: CLUSTER, lines: 3 }]);
    const found = async (query: Parameters<typeof searchJournal>[1]) =>
      (await searchJournal(bucket.store, query, 10, never)).lines.map(({ value }) => value['kind']);
    expect(new Set(await found({}))).toEqual(new Set(['decision', 'person', 'rollout']));
    expect(await found({ hostile: true, verdict: 'approve', node: 'worker-1' })).toEqual(['person']);
  });

  it.each<[string, JournalEntry, JournalEntry, boolean]>([
    ['a refused write, again', rollout(), rollout({ at: LATER }), true],
    ['a refused write, for another reason', rollout(), rollout({ reason: 'x' }), false],
    ['two writes that were done', rollout({ outcome: 'written' }), rollout({ outcome: 'written', at: LATER }), false],
    ['one write that was done', rollout({ outcome: 'written' }), rollout({ outcome: 'written' }), true],
    ['what was refused and then done', rollout(), rollout({ outcome: 'written' }), false],
    ['writes to two objects', rollout(), rollout({ object: 'EtcdadmCluster eksa-system/x' }), false],
    ['a decision, again', entry(1), entry(1, { at: LATER }), true],
    ['a decision of a person, as it was sent twice', person(), person(), true],
    ['what a person decided again', person({ outcome: 'failed' }), person({ outcome: 'failed', at: LATER }), false],
  ])('%s', (_, a, b, same) => {
    expect(entryKey(a) === entryKey(b)).toBe(same);
  });
});
