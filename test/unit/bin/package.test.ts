import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

describe('the package that npm pack makes', () => {
  let directory: string;
  let program: string;
  let plugin: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-package-'));
    await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: ROOT });
    const [tarball = ''] = await readdir(directory);
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
});
