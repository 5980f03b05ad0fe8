import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Creates a directory and its parents. Node's own recursive `mkdir` never ends if an existing directory answers ENOENT,
 * as /proc does.
 *
 * @throws the error of the file system; ENOTDIR if a file is in the way
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

/** Creates a directory and tries it. */
export async function tryDirectory(directory: string): Promise<void> {
  await makeDirectory(directory);
  await tryFile(directory);
}

/** Writes and removes a file in a directory: permissions alone do not show whether that works. */
export async function tryFile(directory: string): Promise<void> {
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
    // It may exist: a read-only file system reports another error than EEXIST.
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) throw error;
    if (!found.isDirectory())
      throw Object.assign(new Error('it is not a directory', { cause: error }), { code: 'ENOTDIR' });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
