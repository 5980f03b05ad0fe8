import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const PROJECT = resolve(import.meta.dirname, '../../..');

describe('bin/app.ts', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-app-'));
  });
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  /** Runs the app as the CDK CLI does, without bundling. */
  async function run(fleet: string): Promise<{ status: number | null; stderr: string }> {
    const child = spawn(process.execPath, ['bin/app.ts'], {
      cwd: PROJECT,
      env: {
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        CDK_VALIDATION: process.env['CDK_VALIDATION'],
        CDK_OUTDIR: join(directory, 'cdk.out'),
        CDK_CONTEXT_JSON: JSON.stringify({ fleet, 'aws:cdk:bundling-stacks': [] }),
      },
    });
    let stderr = '';
    child.stderr.on('data', (piece: Buffer) => {
      stderr += piece.toString();
    });
    const status = await new Promise<number | null>((done) => child.once('exit', done));
    return { status, stderr };
  }

  it('lists every problem of the fleet, and exits with status 2', async () => {
    const file = join(directory, 'fleet.yaml');
    await writeFile(file, 'version: 1\nclusters:\n  - name: a b\n    provider: gke\n');
    const { status, stderr } = await run(file);
    expect(status).toBe(2);
    const [summary, ...problems] = stderr.trim().split('\n');
    expect(summary).toBe('3 problems in the fleet configuration');
    for (const problem of problems) expect(problem).toMatch(/fleet\.yaml:[34]:\d+: clusters\[0\]/);
    expect(stderr).not.toContain('    at ');
  });

  it('wants to know where the hub is when other accounts shall trust it', async () => {
    const file = join(directory, 'fleet.yaml');
    await writeFile(file, "version: 1\ndiscovery:\n  - accounts: ['111122223333']\n");
    const { status, stderr } = await run(file);
    expect(status).toBe(2);
    expect(stderr).toContain(`${file}: hub: write account and region`);
  });

  it('says which file is missing, and exits with status 2', async () => {
    const { status, stderr } = await run(join(directory, 'nowhere.yaml'));
    expect(status).toBe(2);
    expect(stderr).toContain('nowhere.yaml');
    expect(stderr).toContain('-c fleet=FILE');
    expect(stderr).not.toContain('    at ');
  });

  it.each(readdirSync(join(PROJECT, 'examples')).map((name) => join('examples', name)))(
    'synthesizes %s, with nothing that cdk-nag finds',
    async (file) => {
      const { status, stderr } = await run(file);
      expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining(`${file}: `) });
    },
  );

  it('synthesizes fleet.yaml, with nothing that cdk-nag finds, and says what the fleet is in one line', async () => {
    const { status, stderr } = await run('fleet.yaml');
    expect(status).toBe(0);
    expect(stderr.trim().split('\n').at(-1)).toMatch(
      /^fleet\.yaml: 0 listed clusters; EKS discovery in 1 account, 1 Region; 1 lane; 0 spokes; policies: default \(observe\)\./,
    );
  });
});
