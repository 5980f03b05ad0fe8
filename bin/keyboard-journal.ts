import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { AwsError } from '../lambdas/aws/errors.ts';
import type { Journal, JournalEntry } from '../lambdas/journal/journal.ts';
import { printable } from '../lambdas/printable.ts';
import { UsageError } from './exit-codes.ts';
import { systemErrorWords } from './system-error.ts';

/** A journal in a local directory. */
export interface KeyboardJournal {
  readonly journal: Journal;
  /** As given on the command line. */
  readonly directory: string;
}

/** Deadline of an append. Milliseconds. */
const JOURNAL_MS = 10_000;

/**
 * Opens the journal, and creates a missing directory. An unwritable one fails here, before anything is decided.
 *
 * @throws UsageError
 */
export async function openKeyboardJournal(directory: string): Promise<KeyboardJournal> {
  try {
    await mkdir(directory).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
    await access(directory, constants.W_OK);
  } catch (error) {
    throw new UsageError(`--journal ${printable(directory)} cannot be written: ${systemErrorWords(error)}.`, {
      cause: error,
    });
  }
  const { createDirectoryJournal } = await import('../lambdas/journal/directory-journal.ts');
  return { journal: createDirectoryJournal(directory), directory };
}

/**
 * Appends decisions; without entries, only tests whether the journal is writable.
 *
 * @returns why they could not be written, with the lines; undefined on success
 */
export async function keepAtKeyboard(
  { journal, directory }: KeyboardJournal,
  cluster: string,
  entries: readonly JournalEntry[],
): Promise<string | undefined> {
  try {
    await journal.append(cluster, entries, AbortSignal.timeout(JOURNAL_MS));
    return undefined;
  } catch (error) {
    const why = error instanceof AwsError ? error.message : systemErrorWords(error);
    const lines = entries.map((entry) => `\n${JSON.stringify(entry)}`);
    return `the journal in ${printable(directory)} could not be written: ${why}.${lines.length === 0 ? '' : ` These lines are not in it:${lines.join('')}`}`;
  }
}
