import { describe, expect, it } from 'vitest';
import type { DecisionEntry } from '../../../lambdas/journal/entry.ts';
import { appendDecisions } from '../../../lambdas/journal/sweep-journal.ts';
import { tryingAgain } from '../../../lambdas/journal/trying-again.ts';

const { signal } = new AbortController();
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody reads more of it here
const entry = (csr: string) => ({ csr }) as DecisionEntry;

function journalThat(fails: () => boolean) {
  const appended: [string, readonly string[]][] = [];
  const journal = tryingAgain({
    append: async (cluster, entries) => {
      appended.push([cluster, entries.map((one) => (one.kind === 'rollout' ? one.object : one.csr))]);
      if (fails()) throw new Error('no');
      return entries.length;
    },
  });
  const keep = async (cluster: string, ...csrs: string[]) =>
    appendDecisions({ journal, program: '1' }, cluster, { entries: csrs.map(entry), leftOut: 0 }, signal);
  return { appended, keep };
}

describe('tryingAgain', () => {
  it('keeps with the next sweep of the cluster what could not be kept, in the order it was decided', async () => {
    let down = true;
    const { appended, keep } = journalThat(() => down);
    expect(await keep('oslo', 'a')).toMatchObject({
      lines: 0,
      unwritten: [{ csr: 'a' }],
      problem: { kind: 'journal' },
    });
    expect(await keep('oslo')).toMatchObject({ lines: 0, unwritten: [], problem: { kind: 'journal' } });
    expect(await keep('bergen')).toBeUndefined();
    down = false;
    expect(await keep('oslo', 'b')).toEqual({ lines: 2, unwritten: [], leftOut: 0 });
    expect(await keep('oslo')).toBeUndefined();
    expect(appended).toEqual([
      ['oslo', ['a']],
      ['oslo', ['a']],
      ['oslo', ['a', 'b']],
    ]);
  });

  it('remembers no more than it can, and the oldest first', async () => {
    let down = true;
    const { appended, keep } = journalThat(() => down);
    await keep('oslo', ...Array.from({ length: 1_500 }, (_, index) => `csr-${index}`));
    down = false;
    await keep('oslo');
    expect(appended.at(-1)?.[1]).toHaveLength(1_000);
    expect(appended.at(-1)?.[1][0]).toBe('csr-0');
  });

  it('remembers a hundred clusters, and of these also what comes later', async () => {
    let down = true;
    const { appended, keep } = journalThat(() => down);
    for (let number = 1; number <= 101; number += 1) await keep(`c${number}`, 'a');
    await keep('c100', 'b');
    down = false;
    expect(await keep('c101')).toBeUndefined();
    await keep('c100');
    expect(appended.at(-1)).toEqual(['c100', ['a', 'b']]);
  });
});
