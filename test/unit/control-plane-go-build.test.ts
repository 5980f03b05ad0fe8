import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { resolveBinaries } from '../control-plane/binaries.ts';
import { ToolError } from '../control-plane/cache.ts';
import { withFileLock } from '../control-plane/file-lock.ts';
import { BuildError, buildExecutables, go } from '../control-plane/go-build.ts';
import { type BareMachine, bareMachine } from './bare-machine.ts';

const GO_BUILD = join(import.meta.dirname, '..', 'control-plane', 'go-build.ts');
const PROGRAM = { executable: 'program', label: 'program', goPackage: '.', coldBuild: '1 s' };
const LIST = ['list', '.'];

describe('what the Go build says', () => {
  let machine: BareMachine;
  let directory: string;
  let module: string;
  let printed: string[];
  beforeEach(async () => {
    machine = await bareMachine();
    ({ directory, printed } = machine);
    module = join(directory, 'module');
    await mkdir(module);
    await writeFile(join(module, 'go.mod'), 'module x.test/x\n\ngo 1.26.0\n');
    vi.stubEnv('KUBEBUILDER_ASSETS', '');
  });
  afterEach(() => machine.remove());

  /** A `go` on the PATH that runs these lines; for `build`, `$out` is the file to make. */
  async function fakeGo(build: string): Promise<void> {
    const script = `#!/bin/sh
      if [ "$1" = env ]; then echo go1.26.8; exit; fi
      while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done
      ${build}\n`;
    await writeFile(join(directory, 'go'), script, { mode: 0o755 });
  }

  const failing = (output: string) => fakeGo(`/bin/cat >&2 <<'END'\n${output}\nEND\nexit 1`);

  const builtIn = async () => {
    const [key = ''] = await readdir(join(directory, 'cache', 'control-plane'));
    return join(directory, 'cache', 'control-plane', key);
  };

  it('without Go', async () => {
    const sentence = 'there is no "go" on the PATH; install Go 1.26 or newer';
    await expect(go(LIST, module)).rejects.toEqual(new ToolError(sentence));
    expect(await resolveBinaries('etcd')).toEqual({ missing: sentence });
    vi.stubEnv('KUBEBUILDER_ASSETS', directory);
    const lacks = `KUBEBUILDER_ASSETS=${directory} lacks etcd, oracle, and ${sentence}`;
    expect(await resolveBinaries('etcd', 'oracle')).toEqual({ missing: lacks });
    vi.stubEnv('KUBEBUILDER_ASSETS', join(directory, 'absent'));
    const absent = `KUBEBUILDER_ASSETS=${directory}/absent is not a directory; correct it, or leave it empty`;
    expect(await resolveBinaries('etcd')).toEqual({ missing: absent });
  });

  it.each([
    'go: go.mod requires go >= 1.26.0 (running go 1.24.1; GOTOOLCHAIN=local)',
    'go: downloading go1.26.0 (linux/amd64)\ngo: download go1.26.0: golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64: Get "https://proxy.golang.org/x.zip": dial tcp: no such host',
    "go: errors parsing go.mod:\ngo.mod:3: invalid go version '1.26.0': must match format 1.23",
  ])('with a Go that is too old: case %#', async (output) => {
    await failing(output);
    const sentence = 'the "go" on the PATH is too old; install Go 1.26 or newer';
    await expect(go(LIST, module)).rejects.toEqual(new ToolError(sentence));
  });

  it.each([
    [
      'dial tcp: lookup proxy.golang.org: no such host',
      'go: downloading x v1\nmain.go:2:8: x@v1: Get "https://proxy.golang.org/x/@v/v1.zip": dial tcp: lookup proxy.golang.org: no such host\nmain.go:3:8: and so on',
    ],
    [
      'dial tcp 127.0.0.1:9: connection refused',
      '{ "Error": "x@v1: Get \\"https://proxy.golang.org/x.info\\": dial tcp 127.0.0.1:9: connection refused" }',
    ],
    [
      'reading https://proxy.golang.org/x/@v/v1.zip: 403 Forbidden',
      'go: x@v1: reading https://proxy.golang.org/x/@v/v1.zip: 403 Forbidden\n\tserver response: not here',
    ],
    ['module lookup disabled by GOPROXY=off', 'main.go:2:8: module lookup disabled by GOPROXY=off'],
  ])('without a network: %s', async (cause, output) => {
    await failing(output);
    const sentence = `the download of Go modules failed (${cause}); connect to the network, which is needed once`;
    await expect(go(LIST, module)).rejects.toEqual(new ToolError(sentence));
  });

  it('with a version that does not exist, or code that does not compile', async () => {
    await failing('go: x@v9: reading https://proxy.golang.org/x/@v/v9.zip: 404 Not Found');
    await expect(go(['mod', 'download', 'x'], module)).rejects.toThrow(/^go mod download failed \(1\):\ngo: x@v9/);
    await failing('main.go:2:14: undefined: x');
    const error = new BuildError('go build . failed (1):\nmain.go:2:14: undefined: x');
    await expect(buildExecutables(module, [PROGRAM], '-s')).rejects.toEqual(error);
  });

  it('where Go cannot write', async () => {
    const cause = 'failed to initialize build cache at /x: mkdir /x: permission denied';
    await failing(cause);
    const sentence = `the caches of Go cannot be written (${cause}); set GOCACHE and GOMODCACHE to directories that can`;
    await expect(go(LIST, module)).rejects.toEqual(new ToolError(sentence));
  });

  it('where the cache cannot be written', async () => {
    await fakeGo('exit 1');
    await writeFile(join(directory, 'file'), '');
    vi.stubEnv('CERTMARSHAL_CACHE', join(directory, 'file'));
    await expect(buildExecutables(module, [PROGRAM], '-s')).rejects.toThrow(
      /^the cache directory \S+\/file\/control-plane\/\w+ cannot be written \(ENOTDIR: .*\); set CERTMARSHAL_CACHE to one that can$/,
    );
  });

  it('while another process builds', async () => {
    await fakeGo('echo built > "$out"; /bin/chmod +x "$out"');
    const [path = ''] = await buildExecutables(module, [PROGRAM], '-s');
    expect(printed).toEqual([
      'control-plane: building program (once, about 1 s)…\n',
      expect.stringMatching(/^control-plane: built program in \d+ s\n$/),
    ]);
    await rm(path);
    printed.length = 0;
    const lock = join(await builtIn(), '.lock');
    await withFileLock(lock, async () => {
      const waiting = buildExecutables(module, [PROGRAM], '-s');
      const line = `control-plane: process ${process.pid} is building (${lock}), waiting for it…\n`;
      await expect.poll(() => printed).toEqual([line]);
      await fakeGo('exit 1');
      await writeFile(path, '', { mode: 0o755 });
      return { waiting };
    }).then(({ waiting }) => waiting);
    // It looked again: what the other one built is not built twice.
    expect(printed).toHaveLength(1);
  });

  it('goes on after a build that was killed, and removes what that left', async () => {
    const pidFile = join(directory, 'pid');
    await fakeGo(`echo part > "$out"; echo $$ > ${pidFile}; exec /bin/sleep 60`);
    const script = `
      import { buildExecutables } from ${JSON.stringify(GO_BUILD)};
      await buildExecutables(${JSON.stringify(module)}, [${JSON.stringify(PROGRAM)}], '-s');
    `;
    const killed = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    await expect.poll(() => readFile(pidFile, 'utf8').catch(() => '')).toMatch(/\n/);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    const cache = await builtIn();
    expect(await readdir(cache)).toEqual(['.lock', `program.${killed.pid}.tmp`]);

    await fakeGo('echo built > "$out"; /bin/chmod +x "$out"');
    const paths = await buildExecutables(module, [PROGRAM], '-s');
    expect(await readdir(cache)).toEqual(['program']);

    // What the dead process had started goes on, and is done later.
    await writeFile(join(cache, `program.${killed.pid}.tmp`), '');
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
    expect(await buildExecutables(module, [PROGRAM], '-s')).toEqual(paths);
    expect(await readdir(cache)).toEqual(['program']);
    expect(printed.join('')).not.toContain('waiting');
  });
});
