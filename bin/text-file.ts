import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { printable } from '../lambdas/printable.ts';
import { UsageError } from './exit-codes.ts';
import { systemErrorCode, systemErrorWords } from './system-error.ts';

/** What stands in the commands of messages for a file of the reader. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  KUBECONFIG: 'a kubeconfig of the cluster',
  MANAGEMENT: 'a kubeconfig of its management cluster; if it manages itself, that of the cluster',
};

/**
 * Reads a file that the user named.
 *
 * @param option the flag that names it
 * @param encoding with `latin1`, each character is one byte of any file
 * @throws UsageError with the reason in words
 */
export async function readTextFile(file: string, option?: string, encoding?: 'latin1'): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await bytesOf(file);
  } catch (error) {
    throw new UsageError(sentence(file, option, error), { cause: error });
  }
  if (encoding !== undefined || (isUtf8(bytes) && !bytes.includes(0))) return bytes.toString(encoding);
  throw new UsageError(`${printable(file)} is not UTF-8 text; name another file, or save it as UTF-8.`);
}

/** Pipes, as of `--kubeconfig <(…)`, can be read once. */
const PIPES = new Map<string, Promise<Buffer>>();

async function bytesOf(file: string): Promise<Buffer> {
  if (!(await stat(file)).isFIFO()) return readFile(file);
  const bytes = PIPES.get(file) ?? readFile(file);
  PIPES.set(file, bytes);
  return bytes;
}

/**
 * Replaces a file that the user named, atomically: readers see the old or the new file, however the program ends.
 *
 * @throws the error of the file system; the old file is then unchanged
 */
export function replaceTextFile(file: string, text: string): void {
  const target = targetOf(file);
  const written = join(dirname(target), `.${randomUUID()}.tmp`);
  try {
    // Synchronous, so that not even Ctrl-C runs in between.
    writeFileSync(written, text, { flag: 'wx', flush: true });
    renameSync(written, target);
  } finally {
    rmSync(written, { force: true });
  }
}

/** Replaces the target of a link, not the link. */
function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function sentence(file: string, option: string | undefined, error: unknown): string {
  const code = systemErrorCode(error);
  if (code === 'ENOENT') {
    const placeholder = PLACEHOLDERS[file];
    if (placeholder !== undefined) return `${file} stands for a file of yours: name ${placeholder}.`;
    const quoted = file.startsWith('~')
      ? ' In quotes, the shell does not expand ~: write $HOME, or remove the quotes.'
      : '';
    const where = isAbsolute(file) || quoted !== '' ? '' : workingDirectory();
    return file === ''
      ? `${option ?? 'The argument'} names no file: it is empty.`
      : `There is no file ${file}${where}${option === undefined ? '' : `, which ${option} names`}.${quoted}`;
  }
  if (code === 'EISDIR') return `${file} is a directory; name a file in it.`;
  if (code === 'EACCES' || code === 'EPERM') return `You are not allowed to read ${file}; ls -l shows who is.`;
  return `${file} cannot be read: ${systemErrorWords(error)}.`;
}

/** Where a relative path starts; empty if that directory was removed. */
function workingDirectory(): string {
  try {
    return ` in ${process.cwd()}`;
  } catch {
    return '';
  }
}
