import { appendFile } from 'node:fs/promises';
import { type JournalEntry, linesOf } from '../lambdas/journal/journal.ts';
import { printable } from '../lambdas/printable.ts';
import { UsageError } from './exit-codes.ts';
import { systemErrorWords } from './system-error.ts';

export interface KeyboardJournal {
  /** As given on the command line. */
  readonly file: string;
  /** @throws an error of the file system */
  readonly append: (lines: string) => Promise<void>;
}

/**
 * Opens the journal, and creates a missing file. An unwritable one fails here, before anything is decided.
 *
 * @throws UsageError
 */
export async function openKeyboardJournal(file: string): Promise<KeyboardJournal> {
  const append = async (lines: string) => appendFile(file, lines, { mode: 0o600, flush: true });
  try {
    await append('');
  } catch (error) {
    throw new UsageError(
      `--journal ${printable(file)} cannot be written: ${systemErrorWords(error)}. Name a file to which lines are appended.`,
      { cause: error },
    );
  }
  return { file, append };
}

/** @returns why the decisions could not be written, with the lines; undefined on success */
export async function keepAtKeyboard(
  { file, append }: KeyboardJournal,
  entries: readonly JournalEntry[],
): Promise<string | undefined> {
  const lines = linesOf(entries);
  try {
    if (lines !== '') await append(lines);
    return undefined;
  } catch (error) {
    return `the journal ${printable(file)} could not be written: ${systemErrorWords(error)}. These lines are not in it:\n${lines.trimEnd()}`;
  }
}
