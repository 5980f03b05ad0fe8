import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheBase } from '../control-plane/cache.ts';
import { withFileLock } from '../control-plane/file-lock.ts';

/** A program that tests run, pinned. Each version has its own directory: a changed pin never meets what an older one left. */
export interface PinnedTool {
  /** As its package index calls it. */
  readonly name: string;
  readonly version: string;
}

/** Thrown when a tool, or what installs it, cannot be had on this machine. The message says which. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/**
 * Installs a tool into the cache unless it is there. A lock keeps two test workers from doing it at once; a mark, written last, says
 * that it is whole.
 *
 * @param install fills the empty directory, which then stays where it is: neither Python nor npm can move what they made
 * @returns the directory
 */
export async function installOnce(
  { name, version }: PinnedTool,
  install: (directory: string) => Promise<void>,
): Promise<string> {
  const directory = join(cacheBase(), `${name}-${version}`);
  const complete = join(directory, '.complete');
  if (await exists(complete)) return directory;
  await withFileLock(`${directory}.lock`, async () => {
    if (await exists(complete)) return;
    process.stderr.write(`installing ${name} ${version} (once)…\n`);
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    await install(directory);
    await writeFile(complete, '');
  });
  return directory;
}

/** The last lines of what a command said that failed. */
export function outputOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return output.trimEnd().split('\n').slice(-5).join('\n');
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
