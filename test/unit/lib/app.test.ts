import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runApp } from './run-app.ts';

// What it synthesizes: test/rehearsal/templates.test.ts.
describe('bin/app.ts', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-app-'));
  });
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  const run = async (fleet: string) => runApp(fleet, join(directory, 'cdk.out'));

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
    expect(stderr).toMatch(/:\d+:\d+: hub: write account and region/);
  });

  it('deploys no entry that approves client certificates for more than a day', async () => {
    const file = join(directory, 'fleet.yaml');
    const until = new Date(Date.now() + 25 * 3_600_000).toISOString();
    await writeFile(file, `version: 1\nrecovery: [{ cluster: a, nodes: [cp-1], until: '${until}' }]\n`);
    const { status, stderr } = await run(file);
    expect(status).toBe(2);
    expect(stderr).toContain(`recovery[0].until: ${until} is more than 24 hours from now`);
  });

  it('says which file is missing, and exits with status 2', async () => {
    const { status, stderr } = await run(join(directory, 'nowhere.yaml'));
    expect(status).toBe(2);
    expect(stderr).toContain('nowhere.yaml');
    expect(stderr).toContain('-c fleet=FILE');
    expect(stderr).not.toContain('    at ');
  });
});
