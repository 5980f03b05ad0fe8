import { readFile } from 'node:fs/promises';
import { UsageError } from './exit-codes.ts';
import { systemErrorWords } from './system-error.ts';

/**
 * Reads a file the user named.
 *
 * @param option that names it
 * @throws UsageError that says in words why it cannot be read
 */
export async function readTextFile(file: string, option?: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(sentence(file, option, error), { cause: error });
  }
}

function sentence(file: string, option: string | undefined, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') {
    const quoted = file.startsWith('~')
      ? ' The shell leaves ~ as it is in quotes: write $HOME, or leave them out.'
      : '';
    return `There is no file ${file}${option === undefined ? '' : `, which ${option} names`}.${quoted}`;
  }
  if (code === 'EISDIR') return `${file} is a directory; name a file in it.`;
  if (code === 'EACCES' || code === 'EPERM') return `You are not allowed to read ${file}; ls -l shows who is.`;
  return `${file} cannot be read: ${systemErrorWords(error)}.`;
}
