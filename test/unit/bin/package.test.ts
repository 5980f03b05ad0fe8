import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { kubeconfigOf } from './kubeconfigs.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

describe('the package that npm pack makes', () => {
  let directory: string;
  let tarball: string;
  let program: string;
  let plugin: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-package-'));
    await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: ROOT });
    const [name = ''] = await readdir(directory);
    tarball = join(directory, name);
    await run('tar', ['-xzf', tarball], { cwd: directory });
    const manifest = JSON.parse(await readFile(join(directory, 'package', 'package.json'), 'utf8'));
    program = join(directory, 'package', manifest.bin.certmarshal);
    plugin = manifest.bin['kubectl-certmarshal'];
  });

  afterAll(() => rm(directory, { recursive: true }));

  // Nothing is installed beside it: it has to stand alone.
  const packed = (command: string) =>
    run('sh', ['-c', `"${process.execPath}" "${program}" ${command}`], { cwd: directory });

  it('runs without any dependency, also as a plugin of kubectl', async () => {
    expect(join(directory, 'package', plugin)).toBe(program);
    expect((await packed('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await packed('rbac')).stdout).toContain('kind: ClusterRoleBinding');
    expect((await packed('runbook certificate-critical')).stdout).toMatch(/^# /);
    const line = JSON.stringify({
      id: 1,
      cluster: { name: 'bench', provider: 'eks-anywhere' },
      csr: csrOf(1, requestOf(1), '2026-01-01T00:00:00Z'),
      machines: [machineOf(1)],
      now: '2026-01-01T00:01:00Z',
    });
    const { stdout } = await packed(`decide --policy "${ROOT}/fleet.yaml" <<'END'\n${line}\nEND`);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, verdict: 'approve' });
  });

  it('loads a kubeconfig file, with the library that does it', async () => {
    const kubeconfig = `'{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"n","user":"u"}}],"clusters":[{"name":"n","cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"name":"u","user":{"token":"t"}}]}'`;
    const failed = await packed(
      `sweep --output json --kubeconfig /dev/stdin <<END\n${kubeconfig.slice(1, -1)}\nEND`,
    ).catch((error: { stdout: string }) => error);
    expect(JSON.parse(failed.stdout)).toMatchObject({ complete: false, problems: [{ kind: 'unreachable' }] });
  });

  it('is installed in an empty folder, where npx runs it', async () => {
    const cwd = join(directory, 'empty');
    await mkdir(cwd);
    await run('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', '--prefix', cwd, tarball], {
      cwd,
    });
    const npx = (...args: readonly string[]) =>
      run('npx', ['--no', 'certmarshal', ...args], { cwd }).catch(
        (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
      );
    expect((await npx('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    await writeFile(join(cwd, 'berlin.json'), kubeconfigOf());
    expect(await npx('audit', '--kubeconfig', 'berlin.json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('✖ berlin · EKS Anywhere · not readable'),
    });
  });
});

describe('in a clone', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-clone-'));
    await writeFile(join(directory, 'berlin.json'), kubeconfigOf());
  });
  afterAll(() => rm(directory, { recursive: true }));

  // npm sets these for what it runs; those of the npm that runs the tests are another's.
  const env = { ...process.env, INIT_CWD: undefined, npm_lifecycle_event: undefined };

  it('npm run takes relative paths as they are typed, from any directory', async () => {
    const failed = await run(
      'npm',
      ['--prefix', ROOT, 'run', '-s', 'certmarshal', '--', 'audit', '--kubeconfig', 'berlin.json'],
      {
        cwd: directory,
        env,
      },
    ).catch((error: { readonly stdout: string }) => error);
    expect(failed.stdout).toContain('✖ berlin · EKS Anywhere · not readable');
  });

  it('npx runs what npm ci built, in the directory where it is typed', async () => {
    const cwd = join(ROOT, 'docs', 'runbooks');
    const failed = await run('npx', ['--no', 'certmarshal', 'audit', '--kubeconfig', 'alarms/README.md'], {
      cwd,
      env,
    }).catch((error: { readonly stderr: string }) => error);
    expect(failed.stderr).toContain('alarms/README.md: kubeconfig: not');
  });

  it('says with which Node.js the package runs as it is', async () => {
    const { engines, scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const { version, engines: needed } = JSON.parse(
      await readFile(join(ROOT, 'node_modules/undici/package.json'), 'utf8'),
    );
    expect({ version, engines: needed }).toEqual({ version, engines });
    // `npm pack` runs prepare too, so that a prepack of its own would build twice.
    expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?(?:pack|prepare|publish)/.test(name))).toEqual([
      'prepare',
    ]);
  });
});
