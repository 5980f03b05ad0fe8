import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDirectoryJournal, directoryJournalStore } from '../../../lambdas/journal/directory-journal.ts';
import { headKey, journalKey } from '../../../lambdas/journal/keys.ts';
import { verifyJournal } from '../../../lambdas/journal/verify.ts';
import { CLUSTER, never, person } from './values.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'certmarshal-journal-'));
});
afterEach(async () => rm(directory, { recursive: true }));

const entry = (number: number) => person({ csr: `csr-${number}`, uid: `uid-${number}` });
async function chain() {
  const { chains } = await verifyJournal(directoryJournalStore(directory), {}, never);
  return chains.map(({ cluster, lines, problems }) => ({ cluster, lines, problems: problems.length }));
}

describe('the journal in a directory', () => {
  it('is one chain over processes, which the reader of copies verifies', async () => {
    const journal = createDirectoryJournal(directory);
    expect(await journal.append(CLUSTER, [entry(1), entry(2)], never)).toBe(2);
    expect(await journal.append(CLUSTER, [entry(2)], never)).toBe(0);
    expect(await createDirectoryJournal(directory).append(CLUSTER, [entry(2), entry(3)], never)).toBe(1);
    expect(await chain()).toEqual([{ cluster: CLUSTER, lines: 3, problems: 0 }]);
    expect((await readdir(directory)).toSorted()).toEqual(['heads', 'journal']);
  });

  it('goes on where it was interrupted between head and lines', async () => {
    const journal = createDirectoryJournal(directory);
    await journal.append(CLUSTER, [entry(1)], never);
    await rm(join(directory, journalKey({ day: '2026-11-21', cluster: CLUSTER, seq: 1 })));
    await createDirectoryJournal(directory).append(CLUSTER, [entry(2)], never);
    expect(await chain()).toEqual([{ cluster: CLUSTER, lines: 2, problems: 0 }]);
  });

  it('writes nothing over what somebody changed', async () => {
    await createDirectoryJournal(directory).append(CLUSTER, [entry(1)], never);
    await writeFile(join(directory, journalKey({ day: '2026-11-21', cluster: CLUSTER, seq: 1 })), '{}\n');
    await expect(createDirectoryJournal(directory).append(CLUSTER, [entry(2)], never)).rejects.toMatchObject({
      kind: 'conflict',
    });
  });

  it('is one chain also when several processes write at once', async () => {
    const journals = Array.from({ length: 4 }, () => createDirectoryJournal(directory));
    const appended = await Promise.allSettled(
      journals.flatMap((each, n) => [
        each.append(CLUSTER, [entry(n)], never),
        each.append('other', [{ ...entry(10 + n), cluster: 'other' }], never),
      ]),
    );
    expect(appended.map(({ status }) => status)).toEqual(appended.map(() => 'fulfilled'));
    expect(await chain()).toEqual([CLUSTER, 'other'].map((cluster) => ({ cluster, lines: 4, problems: 0 })));
  });

  it.each(['../berlin', 'a/../../b', '.hidden', 'a b', 'a\u0000b', ''])(
    'goes nowhere else for cluster %j',
    async (cluster) => {
      await expect(
        createDirectoryJournal(directory).append(cluster, [person({ cluster })], never),
      ).rejects.toMatchObject({ kind: 'invalid' });
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it('waits for another process until its own time is over, and says what is in the way', async () => {
    await mkdir(join(directory, '.lock'));
    const signal = AbortSignal.timeout(50);
    await expect(createDirectoryJournal(directory).append(CLUSTER, [entry(1)], signal)).rejects.toMatchObject({
      kind: 'conflict',
      problem: expect.stringContaining('.lock'),
    });
    expect(await readdir(directory)).toEqual(['.lock']);
  });

  it('tells what the disk says', async () => {
    await writeFile(join(directory, 'heads'), '');
    expect(headKey(CLUSTER)).toMatch(/^heads\//);
    await expect(createDirectoryJournal(directory).append(CLUSTER, [entry(1)], never)).rejects.toMatchObject({
      code: expect.stringMatching(/^E(NOTDIR|EXIST)$/),
    });
  });
});
