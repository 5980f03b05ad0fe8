import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { missingChromium } from '../browser/chromium.ts';
import { ToolError } from '../control-plane/cache.ts';
import { withFileLock } from '../control-plane/file-lock.ts';
import { skip } from '../control-plane/real.ts';
import { installOnce } from '../rehearsal/install-once.ts';
import { runtimeClient } from '../rehearsal/lambda-runtime.ts';
import { tool } from '../rehearsal/tool.ts';
import { pythonTool } from '../rehearsal/venv.ts';
import { type BareMachine, bareMachine } from './bare-machine.ts';

const TEST = join(import.meta.dirname, '..');
const PYTHON =
  spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).stdout?.trim() ?? '';
const withoutPython = PYTHON === '';
if (withoutPython) skip('what a real Python lacks', 'there is no "python3" on the PATH; install Python 3.11 or newer');
const PINNED = { name: 'thing', version: '1.2.3' };
const PYTHON_ADVICE =
  'install Python 3.11 or newer with its venv module (on Debian and Ubuntu: apt-get install python3 python3-venv)';

describe('what the installation of a tool says', () => {
  let machine: BareMachine;
  let directory: string;
  let cache: string;
  let printed: readonly string[];
  beforeEach(async () => {
    machine = await bareMachine();
    ({ directory, cache, printed } = machine);
    await mkdir(cache);
  });
  afterEach(() => machine.remove());

  const fake = (name: string, script: string) =>
    writeFile(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

  /** A `python3` whose environments have a `pip` that runs these lines. */
  const fakePython = (pip: string) =>
    fake(
      'python3',
      `if [ "$1" = -c ]; then exit 0; fi
      /bin/mkdir -p "$3/bin"; /bin/cp "$0" "$3/bin/python3"
      /bin/cat > "$3/bin/pip" <<'END'\n#!/bin/sh\n${pip}\nEND
      /bin/chmod +x "$3/bin/pip"`,
    );

  const failing = (output: string) => `/bin/cat >&2 <<'TEXT'\n${output}\nTEXT\nexit 1`;

  it('without Python', async () => {
    const sentence = `there is no "python3" on the PATH; ${PYTHON_ADVICE}`;
    await expect(pythonTool(PINNED)).rejects.toEqual(new ToolError(sentence));
  });

  it.each([
    ['a Python without venv', "python3 has no module named 'ensurepip'"],
    ['an old Python', 'python3 is Python 3.9'],
  ])('with %s', async (_, problem) => {
    await fake('python3', failing(problem));
    await expect(pythonTool(PINNED)).rejects.toEqual(new ToolError(`${problem}; ${PYTHON_ADVICE}`));
    expect(await readdir(cache)).toEqual([]);
  });

  it.skipIf(withoutPython)('with the real Python, as if it lacked a module or were old', async () => {
    const pretend = (lines: string) => fake('python3', `exec '${PYTHON}' -c "import sys\n${lines}\n$2"`);
    await pretend("sys.modules['ensurepip'] = None");
    await expect(pythonTool(PINNED)).rejects.toThrow(/^python3 has .*ensurepip.*; install Python 3\.11 or newer/);
    await pretend('sys.version_info = (3, 9, 2)');
    await expect(pythonTool(PINNED)).rejects.toThrow(/^python3 is Python 3\.9; install Python 3\.11 or newer/);
  });

  it.each([
    [
      'Failed to establish a new connection: [Errno -3] Temporary failure in name resolution',
      `WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<HTTPSConnection object at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/thing/
ERROR: Could not find a version that satisfies the requirement thing==1.2.3 (from versions: none)`,
    ],
    [
      'Could not find a version that satisfies the requirement thing==1.2.3 (from versions: none)',
      'ERROR: Could not find a version that satisfies the requirement thing==1.2.3 (from versions: none)\nERROR: No matching distribution found for thing==1.2.3',
    ],
  ])('when pip reaches no registry: %s', async (cause, output) => {
    await fakePython(failing(output));
    const sentence = `the download of thing 1.2.3 failed (${cause}); connect to the network, which is needed once`;
    await expect(pythonTool(PINNED)).rejects.toEqual(new ToolError(sentence));
  });

  it('when a compiler or npm is absent, and when npm reaches no registry or has no cache', async () => {
    const client = 'aws-lambda-ric 4.0.2';
    const missing = (compiler: string) =>
      `there is no "${compiler}" on the PATH; install cmake and a C++ compiler (on Debian and Ubuntu: apt-get install cmake g++)`;
    for (const compiler of ['cmake', 'c++']) {
      await expect(runtimeClient()).rejects.toEqual(new ToolError(missing(compiler)));
      await fake(compiler, 'exit 0');
    }
    await expect(runtimeClient()).rejects.toThrow(`${client} cannot be built; it needs npm: `);
    const reason = 'request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org';
    await fake('npm', failing(`npm error code EAI_AGAIN\nnpm error ${reason}\nnpm error A complete log is in /x`));
    await expect(runtimeClient()).rejects.toEqual(
      new ToolError(`the download of ${client} failed (${reason}); connect to the network, which is needed once`),
    );
    const denied = "EACCES: permission denied, mkdir '/x'";
    await fake('npm', failing(`npm error FetchError: Invalid response body: ${denied}\nnpm error     at y`));
    await expect(runtimeClient()).rejects.toEqual(
      new ToolError(`the cache of npm cannot be written (${denied}); set npm_config_cache to a directory that can`),
    );
    await fake('npm', failing('npm error no make\nnpm notice\nnpm notice New version of npm'));
    await expect(runtimeClient()).rejects.toThrow(/it needs npm: npm error no make$/);
  });

  it('where the cache cannot be written', async () => {
    await writeFile(join(directory, 'file'), '');
    vi.stubEnv('CERTMARSHAL_CACHE', join(directory, 'file', 'cache'));
    await expect(installOnce(PINNED, () => Promise.resolve())).rejects.toThrow(
      /^the cache directory \S+\/file\/cache cannot be written \(ENOTDIR: .*\); set CERTMARSHAL_CACHE to one that can$/,
    );
  });

  it('while another process installs it', async () => {
    const lock = join(cache, 'thing-1.2.3.lock');
    const waiting = await withFileLock(lock, async () => {
      const installing = installOnce(PINNED, () => Promise.resolve());
      const line = `rehearsal: process ${process.pid} is installing thing 1.2.3 (${lock}), waiting for it…\n`;
      await expect.poll(() => printed).toEqual([line]);
      return { installing };
    });
    expect(await waiting.installing).toBe(join(cache, 'thing-1.2.3'));
    expect(printed.at(-1)).toBe('rehearsal: installing thing 1.2.3 (once)…\n');
  });

  it('installs once, beside what another version left, and again when it no longer works', async () => {
    await mkdir(join(cache, 'thing-1.2.2'));
    // Of a version of this project that installed into the directory itself.
    await mkdir(join(cache, 'thing-1.2.3', 'half'), { recursive: true });
    const install = vi.fn<(path: string) => Promise<void>>((path) => writeFile(join(path, 'whole'), ''));
    const path = await installOnce(PINNED, install);
    await installOnce(PINNED, install, () => Promise.resolve(true));
    expect(install).toHaveBeenCalledTimes(1);
    expect((await readdir(path)).toSorted()).toEqual(['.complete', 'whole']);

    let usable = false;
    await installOnce(
      PINNED,
      async (empty) => {
        await install(empty);
        usable = true;
      },
      () => Promise.resolve(usable),
    );
    expect(install).toHaveBeenCalledTimes(2);
    expect(await readdir(cache)).toEqual(['thing-1.2.2', 'thing-1.2.3', expect.stringMatching(/^thing-1\.2\.3~/)]);
  });

  it('goes on after an installation that was killed, and removes what that left', async () => {
    const pidFile = join(directory, 'pid');
    await fakePython(`echo $$ > ${pidFile}; exec /bin/sleep 60`);
    const script = `
      import { pythonTool } from ${JSON.stringify(join(TEST, 'rehearsal', 'venv.ts'))};
      await pythonTool(${JSON.stringify(PINNED)});
    `;
    const killed = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    await expect.poll(() => readFile(pidFile, 'utf8').catch(() => '')).toMatch(/\n/);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
    const [left = ''] = (await readdir(cache)).filter((name) => name.includes('~'));

    await fakePython('exit 0');
    expect(await pythonTool(PINNED)).toBe(join(cache, 'thing-1.2.3', 'bin'));
    expect(await readdir(cache)).toEqual(['thing-1.2.3', expect.stringMatching(/^thing-1\.2\.3~/)]);
    expect(await readdir(cache)).not.toContain(left);

    // What the dead process had started goes on, and is done later.
    await mkdir(join(cache, left));
    await pythonTool(PINNED);
    expect(await readdir(cache)).not.toContain(left);
    expect(printed).toEqual(['rehearsal: installing thing 1.2.3 (once)…\n']);
  });

  it('is the reason to skip a suite, or an error with the same sentence', async () => {
    const sentence = `there is no "python3" on the PATH; ${PYTHON_ADVICE}`;
    vi.stubEnv('VITEST_WORKER_ID', undefined);
    vi.stubEnv('CERTMARSHAL_REQUIRE_REAL', undefined);
    expect(await tool('a suite', () => pythonTool(PINNED))).toEqual({ path: '', missing: sentence });
    expect(printed.at(-1)).toBe(`\nSKIPPED: a suite\n  ${sentence}\n`);
    vi.stubEnv('CERTMARSHAL_REQUIRE_REAL', '1');
    const error = new Error(`CERTMARSHAL_REQUIRE_REAL=1, but ${sentence}`);
    await expect(tool('a suite', () => pythonTool(PINNED))).rejects.toEqual(error);
  });

  it('without Chromium', () => {
    const sentence = 'there is no Chromium at /no/chromium; install it, or name another one in CERTMARSHAL_CHROMIUM';
    vi.stubEnv('CERTMARSHAL_CHROMIUM', '/no/chromium');
    vi.stubEnv('VITEST_WORKER_ID', undefined);
    vi.stubEnv('CERTMARSHAL_REQUIRE_REAL', undefined);
    expect(missingChromium('a suite')).toBe(sentence);
    expect(printed).toEqual([`\nSKIPPED: a suite\n  ${sentence}\n`]);
    vi.stubEnv('CERTMARSHAL_REQUIRE_REAL', '1');
    expect(() => missingChromium('a suite')).toThrow(new Error(`CERTMARSHAL_REQUIRE_REAL=1, but ${sentence}`));
  });
});
