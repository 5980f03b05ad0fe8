import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FleetHealth } from '../../lambdas/health/fleet-health.ts';
import { type PageOptions, renderPage } from '../../lambdas/page/page.ts';
import { printable } from '../../lambdas/printable.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { systemErrorWords } from '../system-error.ts';
import { replaceTextFile } from '../text-file.ts';

const PAGE_NAME = /[^/\\]\.html?$/i;
/** Enough of a file to recognize a report by its title. Bytes. */
const HEAD_BYTES = 2_000;

/** @returns the exit status: `incomplete` if it could not be written */
export function writePage(file: string, health: FleetHealth, options: PageOptions, { stderr }: Io): number {
  try {
    replaceTextFile(file, renderPage(health, options));
    return EXIT.done;
  } catch (error) {
    stderr.write(
      `${printable(file)} cannot be written: ${systemErrorWords(error)}. What was there is unchanged; name a file elsewhere.\n`,
    );
    return EXIT.incomplete;
  }
}

/**
 * Checks that the page may be written to this file, before anything is read.
 *
 * @throws UsageError if the name is not that of a page, the existing file is not a report, or its directory is not
 * writable
 */
export async function checkPage(file: string): Promise<void> {
  if (!PAGE_NAME.test(file))
    throw new UsageError(`--report takes a file that ends in .html; got ${file === '' ? 'nothing' : printable(file)}.`);
  const directory = dirname(file);
  try {
    await tryFile(directory);
  } catch (error) {
    throw new UsageError(
      `--report ${printable(file)}: no file can be written in ${directory === '.' ? 'this directory' : printable(directory)}: ${systemErrorWords(error)}. Name a file in another directory.`,
      { cause: error },
    );
  }
  const head = await headOf(file);
  if (head !== '' && !(head.startsWith('<!doctype html>') && head.includes(' · certmarshal</title>')))
    throw new UsageError(`${printable(file)} exists and is not a report of certmarshal: it is not overwritten.`);
}

/** Writes and removes a file in a directory: permissions alone do not show whether that works. */
async function tryFile(directory: string): Promise<void> {
  const file = join(directory, `.${randomUUID()}.tmp`);
  try {
    await (await open(file, 'wx', 0o600)).close();
  } finally {
    await rm(file, { force: true });
  }
}

/** Empty if the file does not exist. @throws UsageError */
async function headOf(path: string): Promise<string> {
  try {
    await using file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw new UsageError(
      `--report ${printable(path)} cannot be replaced: ${systemErrorWords(error)}. Name another file.`,
      { cause: error },
    );
  }
}
