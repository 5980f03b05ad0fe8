import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fastClock } from '../fleet/clock.ts';
import { addMachine, type DemoCluster, startDemoCluster } from '../fleet/demo-cluster.ts';
import { kubeconfigOf } from '../fleet/kubeconfig.ts';
import { node22 } from './node-22.ts';
import { tool } from './tool.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { path: directoryOf22, missing } = await tool('the package on Node.js 22', node22);

describe('the package, installed in an empty folder', () => {
  let directory: string;
  let tarball: string;
  let cluster: DemoCluster;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-installed-'));
    await run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: ROOT });
    const [name = ''] = await readdir(directory);
    tarball = join(directory, name);
    cluster = await startDemoCluster({ name: 'berlin', provider: 'eks-anywhere', clock: fastClock(Date.now(), 1) });
    addMachine(cluster, { name: 'worker-1', dnsNames: ['worker-1'], ipAddresses: ['10.20.0.1'] });
  });

  afterAll(async () => {
    await cluster?.stop();
    await rm(directory, { recursive: true });
  });

  describe.each([
    { major: 22, skipped: missing !== undefined },
    { major: 24, skipped: false },
  ])('on Node.js $major', ({ major, skipped }) => {
    it.skipIf(skipped)('npx runs it: its version, and an audit of a cluster', async () => {
      const bin = major === 22 ? directoryOf22 : dirname(process.execPath);
      const cwd = join(directory, String(major));
      await mkdir(cwd);
      // Nothing is left of the npm that runs the tests, and no registry is asked for what is not there.
      const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: cwd, npm_config_offline: 'true' };
      const started = (program: string, ...args: readonly string[]) => run(program, args, { cwd, env });

      expect((await started('node', '--version')).stdout).toMatch(new RegExp(`^v${major}\\.`));
      await started('npm', 'install', '--silent', '--no-audit', '--no-fund', tarball);
      const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
      expect((await started('npx', 'certmarshal', '--version')).stdout).toBe(`${version}\n`);
      await writeFile(join(cwd, 'berlin.yaml'), kubeconfigOf(cluster.server, 'certmarshal'));
      const { stdout } = await started(
        'npx',
        'certmarshal',
        'audit',
        '--kubeconfig',
        'berlin.yaml',
        '--cluster',
        'berlin',
        '--no-handshakes',
        '--output',
        'json',
      );
      expect(JSON.parse(stdout)).toMatchObject({
        cluster: 'berlin',
        certificates: expect.arrayContaining([expect.objectContaining({ what: 'cluster-ca' })]),
      });
    });
  });

  it('has what it must have beside the program, and nothing of the tests', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout.trim().split('\n');
    expect(files).toEqual(
      expect.arrayContaining(
        ['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'dist/certmarshal.mjs', 'dist/THIRD-PARTY.txt'].map(
          (name) => `package/${name}`,
        ),
      ),
    );
    expect(files.filter((name) => /^package\/(?:test|node_modules|\.|lib|lambdas)/.test(name))).toEqual([]);
  });
});
