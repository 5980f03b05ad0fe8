import { execFile } from 'node:child_process';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ToolError } from '../control-plane/cache.ts';
import { installOnce, outputOf } from './install-once.ts';

/** The newest of the oldest Node.js that the package runs on. No dependency, as it would be another `node` in node_modules/.bin. */
const VERSION = '22.23.3';
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const run = promisify(execFile);

/**
 * Installs Node.js 22 into the cache, once, from the packages by which npm has its executables.
 *
 * @returns the directory of `node`
 * @throws ToolError when npm cannot install it
 */
export async function node22(): Promise<string> {
  const name = `node-${platform()}-${arch()}`;
  const tool = { name, version: VERSION };
  const directory = await installOnce(tool, async (empty) => {
    const options = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1', '--prefix', empty];
    await run('npm', ['install', ...options, `${name}@${VERSION}`], { timeout: INSTALL_TIMEOUT_MS }).catch(
      (error: unknown) => {
        throw new ToolError(`${name} ${VERSION} cannot be installed; it needs npm: ${outputOf(error)}`, {
          cause: error,
        });
      },
    );
  });
  return join(directory, 'node_modules', name, 'bin');
}
