import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Makes a directory and those above it. Node's own recursive `mkdir` never ends where a directory that exists answers ENOENT, as /proc does.
 *
 * @throws what the file system says; ENOTDIR where a file is in the way
 */
export async function makeDirectory(directory: string): Promise<void> {
  const path = resolve(directory);
  try {
    await makeOne(path);
  } catch (error) {
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path) throw error;
    await makeDirectory(parent);
    await makeOne(path);
  }
}

/** Makes a directory and writes a file in it that is gone again: permissions alone do not tell whether that can be done. */
export async function tryDirectory(directory: string): Promise<void> {
  await makeDirectory(directory);
  const file = join(directory, `.${randomUUID()}.tmp`);
  try {
    await (await open(file, 'wx', 0o600)).close();
  } finally {
    await rm(file, { force: true });
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    // What is there already: a file system that is read-only has other words for it than EEXIST.
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) throw error;
    if (!found.isDirectory())
      throw Object.assign(new Error('it is not a directory', { cause: error }), { code: 'ENOTDIR' });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
