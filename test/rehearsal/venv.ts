import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ToolError } from '../control-plane/cache.ts';
import { hasCode } from '../control-plane/errno.ts';
import { installOnce, outputOf, type PinnedTool } from './install-once.ts';

const INSTALL_TIMEOUT_MS = 5 * 60_000;
const run = promisify(execFile);

/** Fails with one line where `python3 -m venv` would fail with many; Debian has `venv` without `ensurepip`, which it needs. */
const PROBE = `
import sys
if sys.version_info < (3, 11): sys.exit('python3 is Python %d.%d' % sys.version_info[:2])
try: import venv, ensurepip
except ImportError as error: sys.exit('python3 has %s' % str(error).lower())
`;
const ADVICE =
  'install Python 3.11 or newer with its venv module (on Debian and Ubuntu: apt-get install python3 python3-venv)';

/**
 * Installs a Python program into a virtual environment in the cache, once; again when the Python is gone that it was made with.
 *
 * @returns the `bin` directory of the environment.
 * @throws ToolError when there is no python3, or pip cannot install the package.
 */
export async function pythonTool(tool: PinnedTool): Promise<string> {
  const { name, version } = tool;
  const install = async (empty: string): Promise<void> => {
    await run('python3', ['-c', PROBE]).catch((error: unknown) => {
      const problem = hasCode(error, 'ENOENT') ? 'there is no "python3" on the PATH' : outputOf(error);
      throw new ToolError(`${problem}; ${ADVICE}`, { cause: error });
    });
    await run('python3', ['-m', 'venv', empty], { timeout: INSTALL_TIMEOUT_MS });
    const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
    await run(join(empty, 'bin/pip'), ['install', ...options, `${name}==${version}`], { timeout: INSTALL_TIMEOUT_MS });
  };
  const isUsable = (directory: string): Promise<boolean> =>
    run(join(directory, 'bin/python3'), ['-c', `import importlib.metadata as m; m.version('${name}')`]).then(
      () => true,
      // A machine that cannot start a process just now says nothing about the environment.
      (error: unknown) => hasCode(error, 'EAGAIN') || hasCode(error, 'ENOMEM'),
    );
  return join(await installOnce(tool, install, isUsable), 'bin');
}
