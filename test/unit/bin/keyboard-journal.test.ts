import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { keepAtKeyboard, openKeyboardJournal } from '../../../bin/keyboard-journal.ts';
import { entriesOf } from '../../support/journal-lines.ts';
import { entry } from '../journal/values.ts';

async function directoryOf(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'certmarshal-journal-'));
  onTestFinished(async () => rm(directory, { recursive: true, force: true }));
  return directory;
}

it('appends to one file, which its owner alone may read', async () => {
  const file = join(await directoryOf(), 'journal.ndjson');
  for (const number of [1, 2])
    expect(await keepAtKeyboard(await openKeyboardJournal(file), [entry(number)])).toBeUndefined();
  expect(entriesOf(await readFile(file, 'utf8'))).toEqual([entry(1), entry(2)]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it('refuses what it cannot append to, before anything is decided', async () => {
  const directory = await directoryOf();
  await expect(openKeyboardJournal(directory)).rejects.toThrow(
    /cannot be written: illegal operation on a directory\. Name a file to which lines are appended\.$/,
  );
});

it('returns the lines that it could not write', async () => {
  const directory = await directoryOf();
  const journal = await openKeyboardJournal(join(directory, 'journal.ndjson'));
  await rm(directory, { recursive: true });
  const unkept = await keepAtKeyboard(journal, [entry(1)]);
  expect(unkept).toContain('could not be written: no such file or directory. These lines are not in it:\n{"version":1');
});
