import { execFile } from 'node:child_process';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheBase } from '../control-plane/cache.ts';
import { hasCode } from '../control-plane/errno.ts';
import { withFileLock } from '../control-plane/file-lock.ts';

/** A Python program that tests run, pinned. */
export interface PythonTool {
  /** As the package index calls it. */
  readonly name: string;
  readonly version: string;
}

/** Thrown when Python, or the package, cannot be had on this machine. The message says which. */
export class PythonError extends Error {
  override readonly name = 'PythonError';
}

/** Its own directory for each version: a changed pin never meets what an older one left. */
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const run = promisify(execFile);

/**
 * Installs a Python program into a virtual environment in the cache, once.
 *
 * @returns the `bin` directory of the environment.
 * @throws PythonError when there is no python3, or pip cannot install the package.
 */
export async function pythonTool({ name, version }: PythonTool): Promise<string> {
  const directory = join(cacheBase(), `${name}-${version}`);
  const bin = join(directory, 'bin');
  const complete = join(directory, '.complete');
  if (await exists(complete)) return bin;
  // A virtual environment cannot be moved, so it is made where it stays; the mark says that it is whole.
  await withFileLock(`${directory}.lock`, async () => {
    if (await exists(complete)) return;
    process.stderr.write(`installing ${name} ${version} (once)…\n`);
    await rm(directory, { recursive: true, force: true });
    try {
      await run('python3', ['-m', 'venv', directory], { timeout: INSTALL_TIMEOUT_MS });
      const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
      await run(join(bin, 'pip'), ['install', ...options, `${name}==${version}`], { timeout: INSTALL_TIMEOUT_MS });
    } catch (error) {
      throw new PythonError(describe(error, `${name} ${version}`), { cause: error });
    }
    await writeFile(complete, '');
  });
  return bin;
}

function describe(error: unknown, what: string): string {
  if (hasCode(error, 'ENOENT')) return 'python3 is not installed; install Python 3.11 or later with its venv module';
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return `${what} cannot be installed: ${output.trimEnd().split('\n').slice(-5).join('\n')}`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
