import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../control-plane/errno.ts';
import { installOnce, outputOf, type PinnedTool, ToolError } from './install-once.ts';

const INSTALL_TIMEOUT_MS = 5 * 60_000;
const run = promisify(execFile);

/**
 * Installs a Python program into a virtual environment in the cache, once.
 *
 * @returns the `bin` directory of the environment.
 * @throws ToolError when there is no python3, or pip cannot install the package.
 */
export async function pythonTool(tool: PinnedTool): Promise<string> {
  const directory = await installOnce(tool, async (empty) => {
    const { name, version } = tool;
    try {
      await run('python3', ['-m', 'venv', empty], { timeout: INSTALL_TIMEOUT_MS });
      const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
      await run(join(empty, 'bin/pip'), ['install', ...options, `${name}==${version}`], {
        timeout: INSTALL_TIMEOUT_MS,
      });
    } catch (error) {
      const problem = hasCode(error, 'ENOENT')
        ? 'python3 is not installed; install Python 3.11 or later with its venv module'
        : `${name} ${version} cannot be installed: ${outputOf(error)}`;
      throw new ToolError(problem, { cause: error });
    }
  });
  return join(directory, 'bin');
}
