import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import {
  appendDecisions,
  type Journaled,
  joinJournaled,
  policyHash,
  withRetryBuffer,
} from '../../../lambdas/journal/sweep-journal.ts';
import { entry, never } from './values.ts';

const PROBLEM = { kind: 'journal', object: 'journal of cluster berlin', message: 'denied', remedy: 'Nothing.' };
const WRITTEN: Journaled = { lines: 2, unwritten: [], leftOut: 1 };
const FAILED: Journaled = { lines: 0, unwritten: [entry(1)], leftOut: 3, problem: PROBLEM };

it.each([
  ['first', FAILED, WRITTEN],
  ['second', WRITTEN, FAILED],
])('a journal of two parts says what is wrong with its %s part, and has the numbers of both', (_, first, second) =>
  expect(joinJournaled(first, second)).toEqual({ lines: 2, unwritten: [entry(1)], leftOut: 4, problem: PROBLEM }),
);

it('a journal of two parts that were written has no problem', () =>
  expect(joinJournaled(WRITTEN, WRITTEN)).toEqual({ lines: 4, unwritten: [], leftOut: 2 }));

function journalThat(fails: () => boolean) {
  const appended: [string, readonly string[]][] = [];
  const journal = withRetryBuffer({
    append: async (cluster, entries) => {
      appended.push([cluster, entries.map((one) => (one.kind === 'rollout' ? one.object : one.csr))]);
      if (fails()) throw new Error('no');
      return entries.length;
    },
  });
  const keep = async (cluster: string, ...csrs: string[]) =>
    appendDecisions(
      { journal, program: '1' },
      cluster,
      { entries: csrs.map((csr) => entry(1, { csr })), leftOut: 0 },
      never,
    );
  return { appended, keep };
}

describe('withRetryBuffer', () => {
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

describe('the hash of policies', () => {
  it('does not depend on the order of their fields, and on everything else', () => {
    const hash = policyHash([DEFAULT_POLICY]);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(policyHash([Object.fromEntries(Object.entries(DEFAULT_POLICY).toReversed()) as typeof DEFAULT_POLICY])).toBe(
      hash,
    );
    expect(policyHash([{ ...DEFAULT_POLICY, mode: 'observe' }])).not.toBe(hash);
    expect(policyHash([{ ...DEFAULT_POLICY, keys: { ...DEFAULT_POLICY.keys, rsaMinBits: 3072 } }])).not.toBe(hash);
    expect(policyHash([DEFAULT_POLICY, DEFAULT_POLICY])).not.toBe(hash);
  });
});
