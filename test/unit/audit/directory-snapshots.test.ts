import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { directorySnapshots } from '../../../lambdas/audit/directory-snapshots.ts';
import type { Snapshot } from '../../../lambdas/contracts/snapshot.ts';

const { signal } = new AbortController();

function snapshotOf(changes: Partial<Snapshot> = {}): Snapshot {
  return {
    version: 1,
    cluster: 'berlin',
    provider: 'eks-anywhere',
    auditedAt: '2026-11-21T08:00:00.000Z',
    observations: [],
    findings: [],
    ...changes,
  };
}

describe('snapshots in a directory', () => {
  let directory: string;

  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'certmarshal-snapshots-')), 'made/when/missing');
  });

  afterEach(() => rm(join(directory, '../../..'), { recursive: true }));

  it('are read as they were written', async () => {
    const snapshots = directorySnapshots(directory);
    expect(await snapshots.read('berlin', signal)).toBeUndefined();
    await snapshots.write(snapshotOf(), undefined, signal);
    expect(await snapshots.read('berlin', signal)).toEqual({
      snapshot: snapshotOf(),
      etag: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await readdir(directory)).toEqual(['berlin.json.gz']);
    expect((await stat(join(directory, 'berlin.json.gz'))).mode & 0o777).toBe(0o600);
  });

  it('replace only what was read', async () => {
    const snapshots = directorySnapshots(directory);
    await snapshots.write(snapshotOf(), undefined, signal);
    const read = await snapshots.read('berlin', signal);
    const second = snapshotOf({ auditedAt: '2026-11-21T09:00:00.000Z' });
    await snapshots.write(second, read?.etag, signal);
    expect((await snapshots.read('berlin', signal))?.snapshot).toEqual(second);
    for (const etag of [read?.etag, undefined])
      await expect(snapshots.write(snapshotOf(), etag, signal)).rejects.toMatchObject({
        name: 'AwsError',
        kind: 'conflict',
      });
    expect((await snapshots.read('berlin', signal))?.snapshot).toEqual(second);
    expect(await readdir(directory)).toEqual(['berlin.json.gz']);
  });

  it('do not replace what is gone', async () => {
    const snapshots = directorySnapshots(directory);
    await expect(snapshots.write(snapshotOf(), 'x', signal)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await readdir(directory)).toEqual([]);
  });

  it('of two that are written at once have one winner', async () => {
    const snapshots = directorySnapshots(directory);
    const written = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        snapshots.write(snapshotOf({ auditedAt: `2026-11-21T08:00:0${index}.000Z` }), undefined, signal),
      ),
    );
    expect(written.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it.each(['../escape', 'a/b', '..', 'https://x:6443', 'ü %'])(
    'stay in the directory for a cluster named %j',
    async (cluster) => {
      const snapshots = directorySnapshots(directory);
      await snapshots.write(snapshotOf({ cluster }), undefined, signal);
      expect((await snapshots.read(cluster, signal))?.snapshot?.cluster).toBe(cluster);
      expect(await readdir(directory)).toHaveLength(1);
    },
  );

  it.each([
    ['damaged', (file: string) => writeFile(file, 'no gzip')],
    ['far too large', (file: string) => truncate(file, 65 * 1024 * 1024)],
  ])('that are %s are only good to be written anew', async (_what, damage) => {
    const snapshots = directorySnapshots(directory);
    await snapshots.write(snapshotOf(), undefined, signal);
    await damage(join(directory, 'berlin.json.gz'));
    const read = await snapshots.read('berlin', signal);
    expect(read).toEqual({ snapshot: undefined, etag: expect.any(String) });
    await snapshots.write(snapshotOf(), read?.etag, signal);
    expect((await snapshots.read('berlin', signal))?.snapshot).toEqual(snapshotOf());
  });

  it('throw what the file system says', async () => {
    const file = join(directory, '../../../file');
    await writeFile(file, '');
    const snapshots = directorySnapshots(file);
    await expect(snapshots.read('berlin', signal)).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(snapshots.write(snapshotOf(), undefined, signal)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await readFile(file, 'utf8')).toBe('');
  });
});
