import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { hasCode } from './errno.ts';

/** Times of a lock, in milliseconds. */
export interface LockTimes {
  /** How often the owner shows that it lives. @default 5000 */
  readonly heartbeat?: number;
  /** A lock not touched for so long belongs to a process that died. @default 60000 */
  readonly stale?: number;
  /** How often somebody who waits looks again. @default 250 */
  readonly poll?: number;
  /** Called once, when the lock turns out to be held by somebody else. */
  readonly onWait?: () => void;
}

/**
 * Runs `work` while holding the lock file at `path`; others on this machine (also in other containers that share the
 * directory) wait. Ownership is shown by touching the file, not by a process id, which means nothing in a container.
 *
 * A dead owner's lock is taken over. In the worst case of two processes taking it over in the same instant both work,
 * so `work` must be harmless when done twice.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>, times: LockTimes = {}): Promise<T> {
  const { heartbeat = 5000, stale = 60_000, poll = 250 } = times;
  await mkdir(dirname(path), { recursive: true });
  let waited = false;
  while (!(await create(path))) {
    if (await isStale(path, stale)) {
      await takeAway(path, stale);
      continue;
    }
    if (!waited) times.onWait?.();
    waited = true;
    await sleep(poll);
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, heartbeat);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await rm(path, { force: true });
  }
}

async function create(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx')).close();
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

async function isStale(path: string, stale: number): Promise<boolean> {
  return stat(path).then(
    (file) => Date.now() - file.mtimeMs > stale,
    () => false,
  );
}

async function takeAway(path: string, stale: number): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    // Between the look and the rename somebody else may have taken over: then this is a living lock, put it back.
    if (!(await isStale(aside, stale))) await link(aside, path);
  } catch {
    // Gone already, or locked again: the caller looks once more.
  } finally {
    await rm(aside, { force: true });
  }
}
