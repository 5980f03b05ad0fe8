import { mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { withFileLock } from '../control-plane/file-lock.ts';

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
    const onWait = vi.fn<() => void>();
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await sleep(20);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => withFileLock(lock, work, { poll: 5, onWait })));
    expect(most).toBe(1);
    // Everybody but the first had to wait, and was told so once.
    expect(onWait).toHaveBeenCalledTimes(4);
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
