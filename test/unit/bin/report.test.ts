import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReportOptions, reportCommand, writeReport } from '../../../bin/commands/report/report.ts';
import { auditedOf, bucketReader, readState, stateOfAudits } from '../../../bin/commands/report/sources.ts';
import { UsageError } from '../../../bin/exit-codes.ts';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import type { FleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { Registry } from '../../../lambdas/contracts/registry.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

const NOW = Date.parse('2026-11-22T02:00:00.000Z');
const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString();
const inDays = (days: number) => new Date(NOW + days * 86_400_000).toISOString();
const NEVER = new AbortController().signal;

const registered = (id: string) => ({ id, source: 'fleet.yaml', foundAt: at(600), seenAt: at(1) });
const REGISTRY: Registry = {
  version: 1,
  writtenAt: at(1),
  sources: { 'fleet.yaml': { triedAt: at(1), readAt: at(1) } },
  clusters: { berlin: registered('berlin'), oslo: registered('oslo') },
};
const swept = (id: string) => ({
  id,
  name: id,
  provider: 'eks-anywhere' as const,
  durationMs: 900,
  readable: true,
  complete: true,
  sweptAt: at(1),
  triedAt: at(1),
  readableAt: at(1),
  completeAt: at(1),
  findings: [],
  findingCount: 0,
});
const INDEX: FleetIndex = {
  version: 1,
  writtenAt: at(1),
  dispatch: { at: at(1), registered: 2, dispatched: 2, problems: [] },
  clusters: { berlin: swept('berlin'), oslo: swept('oslo') },
};

function snapshotOf(cluster: string, changes: Partial<Snapshot> = {}): Snapshot {
  const observedAt = at(5);
  return {
    version: 1,
    cluster,
    provider: 'eks-anywhere',
    auditedAt: observedAt,
    observations: [
      { kind: 'read', source: 'nodes', observedAt, count: 3 },
      { kind: 'read', source: 'signing-requests', observedAt, count: 3 },
      { kind: 'read', source: 'tls', observedAt, count: 1 },
      {
        kind: 'certificate',
        source: 'tls',
        observedAt,
        what: 'kube-apiserver',
        where: '10.0.1.31:6443',
        basis: 'certificate',
        notBefore: inDays(-100),
        notAfter: inDays(265),
      },
    ],
    findings: [],
    ...changes,
  };
}

describe('certmarshal report', () => {
  let directory: string;
  let stdout: string;
  let stderr: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-report-'));
    stdout = '';
    stderr = '';
  });
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  const file = () => join(directory, 'out.html');
  const run = async (options: Partial<ReportOptions>) => {
    const io = recordedIo({ now: NOW });
    const status = await reportCommand({ output: file(), version: '0.1.0', ...options }, DEFAULT_MONITORING, NEVER, io);
    stdout += io.stdout.text();
    stderr += io.stderr.text();
    return status;
  };
  const store = async (objects: Readonly<Record<string, unknown>>) => {
    for (const [name, value] of Object.entries(objects))
      await writeFile(join(directory, name), typeof value === 'string' ? value : JSON.stringify(value));
  };

  it('makes the page of a copy of the state, and tells its story in one line', async () => {
    await store({ 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': INDEX });
    expect(await run({ state: directory })).toBe(0);
    expect(stdout).toMatch(/^\S+out\.html: 2 clusters, 0 critical, \d warnings?, (?:\d new, )?\d+ kB\n$/);
    expect(stderr).toBe('');
    expect(await readFile(file(), 'utf8')).toContain('<title>Fleet report · certmarshal</title>');
  });

  it('prints the data of the page as JSON, and writes no file', async () => {
    await store({ 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': INDEX });
    expect(await run({ state: directory, output: 'json' })).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ at: new Date(NOW).toISOString(), counts: { critical: 0 } });
    expect(await readdir(directory)).toHaveLength(2);
  });

  it('prints the page itself, its story beside it', async () => {
    await store({ 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': INDEX });
    expect(await run({ state: directory, output: '-' })).toBe(0);
    expect(stdout).toMatch(/^<!doctype html>/);
    expect(stderr).toMatch(/^report: 2 clusters/);
  });

  it.each([
    ['half an index', { 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': '{"version":' }, 'fleet-index.json.gz in'],
    ['an index of something else', { 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': [] }, 'is damaged'],
    ['no index', { 'registry.json.gz': REGISTRY }, 'nothing is known about any sweep'],
    ['a damaged registry', { 'registry.json.gz': '{}', 'fleet-index.json.gz': INDEX }, 'registry.json.gz in'],
  ])('says so and has exit status 1 with %s, and makes a page of the rest', async (_name, objects, words) => {
    await store(objects);
    expect(await run({ state: directory })).toBe(1);
    expect(stderr).toContain(words);
    expect(await readFile(file(), 'utf8')).not.toContain('clusters are healthy.</h2>');
  });

  it.each([
    ['a damaged registry', { 'registry.json.gz': '{}', 'fleet-index.json.gz': INDEX }],
    ['a damaged index', { 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': '[]' }],
    ['no index', { 'registry.json.gz': REGISTRY }],
  ])('makes no calm page with %s, and leaves an older one as it is', async (_name, objects) => {
    await store(objects);
    expect(await run({ state: directory })).toBe(1);
    const page = await readFile(file(), 'utf8');
    expect(page).toContain('The state could not be read.');
    expect(page).not.toContain('needs a person now');
    await writeFile(file(), `${page}<!-- good -->`);
    expect(await run({ state: directory })).toBe(1);
    expect(await readFile(file(), 'utf8')).toBe(`${page}<!-- good -->`);
    expect(stderr).toContain('was not changed');
    expect(await run({ state: directory, output: 'json' })).toBe(1);
    expect(stdout).toContain('"kind":"unread-state"');
  });

  it.each(['csv', 'html', '', 'fleet.yaml', '.html'])('does not write a page to %j', async (name) => {
    await store({ 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': INDEX });
    await expect(run({ state: directory, output: name })).rejects.toThrow('--output takes a file that ends in .html');
  });

  it('overwrites a report, and nothing else', async () => {
    await store({ 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': INDEX, 'out.html': '<!doctype html><p>mine' });
    await expect(run({ state: directory })).rejects.toThrow('is not a report of certmarshal');
    expect(await readFile(file(), 'utf8')).toBe('<!doctype html><p>mine');
    await rm(file());
    expect(await run({ state: directory })).toBe(0);
    expect(stdout).toMatch(/ kB\n$/);
    expect(await run({ state: directory })).toBe(0);
    expect(stdout).toMatch(/ kB; it replaces the earlier page\n$/);
  });

  it('says that no Region is named before any call', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_DEFAULT_REGION', undefined);
    vi.stubEnv('AWS_CONFIG_FILE', join(directory, 'none'));
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(directory, 'none'));
    await expect(run({ bucket: 'state' })).rejects.toThrow('No Region is named.');
    await expect(run({ bucket: 's3://state' })).rejects.toThrow(
      '--bucket takes the name of an S3 bucket; got s3://state.',
    );
    vi.unstubAllEnvs();
  });

  it('refuses what is no state', async () => {
    await expect(run({ state: directory })).rejects.toThrow(UsageError);
    await expect(run({ state: directory })).rejects.toThrow('There is no registry.json.gz');
    await expect(run({ state: directory })).rejects.toThrow('FleetBucketName');
  });

  it.each([[{}], [{ bucket: 'a', state: 'b' }]])('takes one source, not %j', async (options) => {
    await expect(run(options)).rejects.toThrow('name --bucket NAME, or --state DIRECTORY');
  });

  it('wraps its story on a narrow terminal', async () => {
    const io = recordedIo({ now: NOW, columns: 40 });
    const state = { registry: REGISTRY, index: INDEX, problems: [] };
    expect(await writeReport(state, { output: file(), version: '0.1.0' }, DEFAULT_MONITORING, io)).toBe(0);
    const lines = io.stdout.text().split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(lines.join('')).toContain('out.html:');
  });

  it('says why the page cannot be written', async () => {
    await store({ 'registry.json.gz': REGISTRY, 'fleet-index.json.gz': INDEX });
    const place = join(directory, 'no', 'such', 'place.html');
    // Before anything is read.
    await expect(run({ state: '/nowhere', output: place })).rejects.toThrow(
      `--output ${place}: no file can be written in ${dirname(place)}: no such file or directory. Name a file in another directory.`,
    );
    await mkdir(file());
    await expect(run({ state: '/nowhere' })).rejects.toThrow(
      `--output ${file()} cannot be replaced: illegal operation on a directory. Name another file.`,
    );
    // What comes only when it is written: a full disk.
    const io = recordedIo({ now: NOW });
    const state = { registry: REGISTRY, index: INDEX, problems: [] };
    expect(await writeReport(state, { output: place, version: '0.1.0' }, DEFAULT_MONITORING, io)).toBe(1);
    expect(io.stderr.text()).toBe(
      `${place} cannot be written: no such file or directory. What was there is unchanged; name a file elsewhere.\n`,
    );
  });

  it('reads a bucket by the keys of the state', async () => {
    const keys: string[] = [];
    const read = async (key: string) => {
      keys.push(key);
      return { value: key === 'registry.json.gz' ? REGISTRY : INDEX, etag: 'e' };
    };
    const state = await readState(bucketReader({ read }, NEVER), 's3://state', NOW);
    expect(keys).toEqual(['registry.json.gz', 'fleet-index.json.gz']);
    expect(Object.keys(state.index?.clusters ?? {})).toEqual(['berlin', 'oslo']);
    expect(state.problems).toEqual([]);
  });

  describe('of audits', () => {
    const audited = async (snapshots: readonly Snapshot[], output = 'json') => {
      const io = recordedIo({ now: NOW });
      const state = stateOfAudits(snapshots.map(auditedOf), NOW, new Map());
      const options = { output, version: '0.1.0', basis: 'audits' } as const;
      expect(await writeReport(state, options, DEFAULT_MONITORING, io)).toBe(0);
      return io.stdout.text();
    };

    it('tells of every cluster that was audited', async () => {
      const { clusters } = JSON.parse(await audited(['berlin', 'eks/eu-central-1/dublin'].map((id) => snapshotOf(id))));
      expect(clusters.map(({ id }: { id: string }) => id).toSorted()).toEqual(['berlin', 'eks/eu-central-1/dublin']);
      expect(clusters[0]).toMatchObject({ state: 'well', readable: true, complete: true, source: 'kubeconfig' });
      expect(clusters[0].audit.ends).toMatchObject([{ what: 'kube-apiserver', notAfter: inDays(265) }]);
      expect(await audited([snapshotOf('berlin')], '-')).toContain('Not swept: requests are not judged');
    });

    const unread = (source: 'nodes' | 'signing-requests') =>
      ({ kind: 'unread', source, observedAt: at(5), problem: 'forbidden', message: 'no', remedy: 'x' }) as const;

    it('does not call a cluster readable whose requests were not listed', async () => {
      const snapshot = snapshotOf('berlin', { observations: [unread('signing-requests')] });
      const { clusters } = JSON.parse(await audited([snapshot]));
      expect(clusters[0]).toMatchObject({ readable: false, complete: false, state: 'new' });
    });

    it('does not call a cluster healthy of which a source was not read', async () => {
      const snapshot = snapshotOf('berlin', { observations: [...snapshotOf('berlin').observations, unread('nodes')] });
      const { clusters } = JSON.parse(await audited([snapshot]));
      expect(clusters[0]).toMatchObject({ readable: true, complete: false, state: 'new' });
      expect(await audited([snapshot], '-')).toContain('its audit could not read 1 source');
    });
  });

  it('is a command with examples, and exit status 2 for wrong usage', async () => {
    const help = await runCli(['report', '--help']);
    expect(help.stdout).toContain('Examples:');
    expect(help.stdout).toContain('--state <directory>');
    expect(help.status).toBe(0);
    const wrong = await runCli(['report']);
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('certmarshal audit --all-contexts reads the clusters of your kubeconfig');
  });
});
