import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { removeLeftovers, withFileLock } from '../control-plane/file-lock.ts';

describe('withFileLock', () => {
  let directory: string;
  let lock: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-lock-'));
    lock = join(directory, 'below', '.lock');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('lets one work at a time', async () => {
    let inside = 0;
    let most = 0;
    const onWait = vi.fn<(owner: string) => void>();
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await sleep(20);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => withFileLock(lock, work, { poll: 5, onWait })));
    expect(most).toBe(1);
    // Who had to wait was told so once, and for whom.
    expect(new Set(onWait.mock.calls.flat())).toEqual(new Set([`process ${process.pid}`]));
    expect(onWait.mock.calls.length).toBeLessThanOrEqual(4);
  });

  it('is free again after a failure', async () => {
    await expect(withFileLock(lock, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(withFileLock(lock, () => Promise.resolve('done'))).resolves.toBe('done');
  });

  it('takes over from an owner that died', async () => {
    await withFileLock(lock, () => Promise.resolve());
    await writeFile(lock, '');
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(lock, longAgo, longAgo);
    await expect(withFileLock(lock, () => Promise.resolve('done'))).resolves.toBe('done');
  });

  it('takes over at once from a process of this machine that died', async () => {
    const owner = spawn(process.execPath, ['-e', '']);
    await once(owner, 'exit');
    await withFileLock(lock, async () => {
      const text = await readFile(lock, 'utf8');
      await writeFile(lock, text.replace(/^\d+/, String(owner.pid)));
    });
    const onWait = vi.fn<(owner: string) => void>();
    await withFileLock(lock, () => Promise.resolve(), { onWait });
    expect(onWait).not.toHaveBeenCalled();
  });

  it.each([
    ['4711 elsewhere pid:[1]', 'process 4711 of another machine or container'],
    ['', 'another process'],
  ])('leaves the lock of a process that it cannot see: %j', async (text, owner) => {
    await withFileLock(lock, () => Promise.resolve());
    await writeFile(lock, text);
    const { promise: asked, resolve: onWait } = Promise.withResolvers<string>();
    const waiting = withFileLock(lock, () => Promise.resolve(), { onWait, poll: 5 });
    expect(await asked).toBe(owner);
    expect(await readFile(lock, 'utf8')).toBe(text);
    await rm(lock);
    await waiting;
  });

  it('keeps a lock alive for as long as the work takes', async () => {
    const times = { heartbeat: 10, stale: 100, poll: 5 };
    let finished = false;
    const slow = withFileLock(
      lock,
      async () => {
        await sleep(400);
        finished = true;
      },
      times,
    );
    await expect.poll(() => stat(lock).then(() => true)).toBe(true);
    await withFileLock(lock, () => Promise.resolve(expect(finished).toBe(true)), times);
    await slow;
  });
});

describe('removeLeftovers', () => {
  let directory: string;
  const isLeftover = (name: string) => name.endsWith('.tmp');
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'certmarshal-lock-'));
    for (const name of ['whole', 'part.tmp']) await writeFile(join(directory, name), '');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('removes what nobody works on', async () => {
    await removeLeftovers(join(directory, '.lock'), isLeftover);
    expect(await readdir(directory)).toEqual(['whole']);
    await removeLeftovers(join(directory, 'absent', '.lock'), isLeftover);
  });

  it('touches nothing while somebody else works', async () => {
    const lock = join(directory, '.lock');
    await withFileLock(lock, async () => {
      await removeLeftovers(lock, isLeftover);
      expect(await readdir(directory)).toEqual(['.lock', 'part.tmp', 'whole']);
      await removeLeftovers(lock, isLeftover, true);
      expect(await readdir(directory)).toEqual(['.lock', 'whole']);
    });
  });
});
