import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, readlink, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from './errno.ts';

/** Times of a lock, in milliseconds. */
export interface LockTimes {
  /** How often the owner shows that it lives. @default 5000 */
  readonly heartbeat?: number;
  /** A lock not touched for so long belongs to a process that died, wherever that was. @default 60000 */
  readonly stale?: number;
  /** How often somebody who waits looks again. @default 250 */
  readonly poll?: number;
  /** Called once, when the lock turns out to be held by somebody else: `process 4711`. */
  readonly onWait?: (owner: string) => void;
}

/**
 * Runs `work` while holding the lock file at `path`; others on this machine (also in other containers that share the
 * directory) wait. The owner shows that it lives by touching the file; here, where its process id means something, that it died is
 * seen at once.
 *
 * A dead owner's lock is taken over. In the worst case of two processes taking it over in the same instant both work,
 * so `work` must be harmless when done twice.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>, times: LockTimes = {}): Promise<T> {
  const { heartbeat = 5000, stale = 60_000, poll = 250 } = times;
  await mkdir(dirname(path), { recursive: true });
  let told = false;
  for (let looks = 0; !(await create(path)); looks += 1) {
    if (await isAbandoned(path, stale)) {
      await takeAway(path, stale);
      continue;
    }
    // A lock that was made this instant does not name its owner yet.
    const owner = await ownerOf(path);
    if (!told && (owner !== undefined || looks > 1)) {
      times.onWait?.(owner ?? 'another process');
      told = true;
    }
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

/**
 * Removes what processes left beside a lock that died while they held it. What such a process had started may go on and leave more: that is
 * removed the next time.
 *
 * @param holds whether the caller holds the lock; nothing is touched while somebody else does
 */
export async function removeLeftovers(
  lock: string,
  isLeftover: (name: string) => boolean,
  holds = false,
): Promise<void> {
  const directory = dirname(lock);
  const left = (await readdir(directory).catch(() => [])).filter(isLeftover);
  // In this order: who made one of them has let go of the lock since.
  if (left.length === 0 || !(holds || (await isAbandoned(lock, 60_000, true)))) return;
  const options = { recursive: true, force: true, maxRetries: 5 };
  await Promise.allSettled(left.map((name) => rm(join(directory, name), options)));
}

async function create(path: string): Promise<boolean> {
  try {
    await writeFile(path, `${process.pid} ${await here()}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Where process ids are those of this process: the machine, and on Linux the container. */
async function here(): Promise<string> {
  return `${hostname()} ${await readlink('/proc/self/ns/pid').catch(() => '')}`;
}

/** Who wrote the lock: its process id, and where that is valid. */
async function read(path: string): Promise<readonly [pid: string, place: string]> {
  const [, pid = '', place = ''] = /^(\d+) (.*)/.exec(await readFile(path, 'utf8').catch(() => '')) ?? [];
  return [pid, place];
}

async function ownerOf(path: string): Promise<string | undefined> {
  const [pid, place] = await read(path);
  if (pid === '') return undefined;
  return place === (await here()) ? `process ${pid}` : `process ${pid} of another machine or container`;
}

async function isAbandoned(path: string, stale: number, whenAbsent = false): Promise<boolean> {
  const file = await stat(path).catch(() => undefined);
  if (file === undefined) return whenAbsent;
  if (Date.now() - file.mtimeMs > stale) return true;
  const [pid, place] = await read(path);
  return pid !== '' && place === (await here()) && !(await isAlive(Number(pid)));
}

async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
  // Where nobody collects orphans (a container without an init process), an ended one stays as a zombie.
  return !(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).includes(') Z ');
}

async function takeAway(path: string, stale: number): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
    // Between the look and the rename somebody else may have taken over: then this is a living lock, put it back.
    if (!(await isAbandoned(aside, stale))) await link(aside, path);
  } catch {
    // Gone already, or locked again: the caller looks once more.
  } finally {
    await rm(aside, { force: true });
  }
}
