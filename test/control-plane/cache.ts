import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative, sep } from 'node:path';

/**
 * Where built executables are kept: `$CERTMARSHAL_CACHE`, else `$XDG_CACHE_HOME/certmarshal`, else
 * `~/.cache/certmarshal`; outside the work tree, so that a fresh checkout does not build again.
 *
 * @param environment the variables to read; only those three names matter.
 */
export function cacheBase(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const { CERTMARSHAL_CACHE: own, XDG_CACHE_HOME: shared } = environment;
  if (own) return own;
  // The XDG specification: a relative path is invalid and to be ignored.
  if (shared?.startsWith('/')) return join(shared, 'certmarshal');
  return join(homedir(), '.cache', 'certmarshal');
}

/**
 * A short name for everything that decides what the build produces: go.mod, go.sum and every Go file below
 * `directory`, plus `extra` (Go version, platform, flags). As for Go, a directory with a go.mod of its own is another module.
 *
 * @returns 16 hexadecimal digits.
 */
export async function sourceKey(directory: string, extra: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const otherModules = entries
    .filter((entry) => entry.name === 'go.mod' && relative(directory, entry.parentPath) !== '')
    .map((entry) => entry.parentPath);
  const inOtherModule = (path: string): boolean =>
    otherModules.some((other) => path === other || path.startsWith(`${other}${sep}`));
  const files = entries
    .filter((entry) => entry.isFile() && /(^go\.(mod|sum)|\.go)$/.test(entry.name) && !inOtherModule(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  for (const file of files) {
    const content = await readFile(file);
    // Lengths keep two neighbouring files from being read as one.
    hash.update(`${relative(directory, file)}\n${content.length}\n`).update(content);
  }
  for (const line of extra) hash.update(`\n${line}`);
  return hash.digest('hex').slice(0, 16);
}
