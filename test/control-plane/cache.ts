import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readdir, readFile } from 'node:fs/promises';
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
 * Thrown when this machine cannot have what tests need. Its message is one sentence for a person: what is missing, and what to do. It is a
 * reason to skip a suite; a defect of the project never is.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/**
 * Makes a directory of the cache, or finds it.
 *
 * @throws ToolError when it cannot be written
 */
export async function cacheDirectory(...below: readonly string[]): Promise<string> {
  const directory = join(cacheBase(), ...below);
  try {
    await mkdir(directory, { recursive: true });
    await access(directory, constants.W_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolError(
      `the cache directory ${directory} cannot be written (${why}); set CERTMARSHAL_CACHE to one that can`,
      { cause: error },
    );
  }
  return directory;
}

/** What says, in the output of Go, pip and npm, that a download failed; a version that does not exist is something else. */
const DOWNLOAD_FAILURES = [
  /(?<=Get \\?"https?:[^"]*": )[^"\n]+/,
  /reading https?:\S+ (?:403|407|429|5\d\d) .*/,
  /module lookup disabled .*/,
  /Failed to establish a new connection: [^'\n]+/,
  /(?:Max retries exceeded|Read timed out|CERTIFICATE_VERIFY_FAILED)[^'\n]*/,
  /Could not find a version .*\(from versions: none\)/,
  /request to https?:\S+ failed.*/,
  /(?:403|407|429|5\d\d) [\w ]+ - GET http.*/,
];

/** An error that names why `what` cannot be downloaded, or undefined where the output of the command tells of no such thing. */
export function downloadError(what: string, output: string): ToolError | undefined {
  const [cause] = DOWNLOAD_FAILURES.flatMap((pattern) => pattern.exec(output)?.[0] ?? []);
  if (cause === undefined) return undefined;
  return new ToolError(`the download of ${what} failed (${cause}); connect to the network, which is needed once`);
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
