import { access, mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheBase, cacheDirectory, downloadError, ToolError } from '../control-plane/cache.ts';
import { removeLeftovers, withFileLock } from '../control-plane/file-lock.ts';

/** A program that tests run, pinned. Each version has its own directory: a changed pin never meets what an older one left. */
export interface PinnedTool {
  /** As its package index calls it. */
  readonly name: string;
  readonly version: string;
}

/**
 * Installs a tool into the cache unless it is there. A lock keeps two test workers from doing it at once; a mark, written last, says
 * that it is whole. Each attempt has a directory of its own, as an installer can outlive the process that started it; the name of the tool
 * is a link to the one that succeeded.
 *
 * @param install fills the empty directory, which then stays where it is: neither Python nor npm can move what they made
 * @param isUsable whether what once was whole still works on this machine
 * @returns the directory
 * @throws ToolError when it cannot be installed
 */
export async function installOnce(
  tool: PinnedTool,
  install: (directory: string) => Promise<void>,
  isUsable: (directory: string) => Promise<boolean> = () => Promise.resolve(true),
): Promise<string> {
  const called = `${tool.name} ${tool.version}`;
  const path = join(cacheBase(), `${tool.name}-${tool.version}`);
  const complete = async (): Promise<boolean> => (await exists(join(path, '.complete'))) && isUsable(path);
  const lock = `${path}.lock`;
  const removeAttempts = async (holds: boolean): Promise<void> => {
    const current = await readlink(path).catch(() => undefined);
    const isLeftover = (name: string): boolean => name.startsWith(`${basename(path)}~`) && name !== current;
    await removeLeftovers(lock, isLeftover, holds);
  };
  const work = async (): Promise<void> => {
    if (await complete()) return;
    say(`installing ${called} (once)…`);
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
    const directory = await mkdtemp(`${path}~`);
    try {
      await install(directory);
      await writeFile(join(directory, '.complete'), '');
      await symlink(basename(directory), path);
    } catch (error) {
      throw toolError(called, error);
    } finally {
      await removeAttempts(true);
    }
  };
  if (!(await complete())) {
    await cacheDirectory();
    const onWait = (owner: string): void => say(`${owner} is installing ${called} (${lock}), waiting for it…`);
    await withFileLock(lock, work, { onWait });
  }
  await removeAttempts(false);
  return path;
}

/** The last lines of what a command said that failed. */
export function outputOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error && String(error.stderr).trimEnd();
  const lines = (output || String(error)).split('\n').filter((line) => !line.startsWith('npm notice'));
  return lines.slice(-5).join('\n');
}

function toolError(called: string, error: unknown): ToolError {
  const failed = error instanceof ToolError ? error.cause : error;
  const output = failed instanceof Error && 'stderr' in failed ? String(failed.stderr) : '';
  const unwritable = /^npm error .*((?:EACCES|EROFS): .*)/m.exec(output)?.[1];
  if (unwritable !== undefined)
    return new ToolError(
      `the cache of npm cannot be written (${unwritable}); set npm_config_cache to a directory that can`,
    );
  const known = downloadError(called, output) ?? (error instanceof ToolError ? error : undefined);
  return known ?? new ToolError(`${called} cannot be installed: ${outputOf(error)}`, { cause: error });
}

function say(line: string): void {
  process.stderr.write(`rehearsal: ${line}\n`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
