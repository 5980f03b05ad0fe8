import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { AwsError } from '../lambdas/aws/errors.ts';
import { jsonBytes, jsonOf } from '../lambdas/json-bytes.ts';
import type { State } from '../lambdas/state.ts';
import { DAY_MS, MINUTE_MS } from '../lambdas/time.ts';
import { UsageError } from './exit-codes.ts';
import { systemErrorCode, systemErrorWords } from './system-error.ts';

const LOCK = 'lock.json';
/** Without a touch for this long, its process is dead. Milliseconds. */
const DEAD_MS = 3 * MINUTE_MS;
const EXPIRING = ['orders', 'outcomes'];
/** Holds a file until it is whole. */
const UNWRITTEN = 'unwritten';

export interface DirectoryState extends State {
  /** Keeps the lock, and removes what a bucket would expire. Each tick calls it. */
  touch(now: number): void;
  /** Gives the lock up. */
  release(): void;
}

/**
 * State in a directory, for one process. A write is a rename, so that a killed process leaves a whole object. Reading,
 * comparing and renaming are one synchronous step: no other write of this process comes between.
 *
 * @throws UsageError if another process that is alive uses it
 */
export function createDirectoryState(directory: string, now: number): DirectoryState {
  const pathOf = (key: string) => join(directory, key);
  const start = Math.round(performance.timeOrigin);
  attempt(directory, () => make(directory));
  const own = { host: hostname(), pid: process.pid, start };
  lock(directory, own, now);
  // What a killed process was writing.
  rmSync(pathOf(UNWRITTEN), { recursive: true, force: true });

  return {
    async get(key) {
      const bytes = bytesAt(pathOf(key));
      return bytes && { value: await jsonOf(bytes), etag: etagOf(bytes) };
    },
    async put(key, value, etag) {
      const bytes = await jsonBytes(key, value);
      if (bytes === undefined) throw failure('invalid', pathOf(key), 'it is too large');
      const path = pathOf(key);
      return attempt(path, () => {
        const before = bytesAt(path);
        if ((before && etagOf(before)) !== etag) throw failure('conflict', path, 'it changed since it was read');
        write(directory, path, bytes);
        return etagOf(bytes);
      });
    },
    async list(prefix, after) {
      const folder = pathOf(prefix.slice(0, prefix.lastIndexOf('/') + 1));
      return attempt(folder, () => filesIn(folder))
        .map((path) => relative(directory, path))
        .filter((key) => key.startsWith(prefix) && key > after)
        .toSorted();
    },
    touch(at) {
      const path = pathOf(LOCK);
      const holder = holderOf(path);
      // This process slept for three ticks, and another one took its place.
      if (holder === undefined) lock(directory, own, at);
      else if (!isSame(holder, own)) throw inUse(directory, holder);
      attempt(path, () => utimesSync(path, at / 1_000, at / 1_000));
      for (const folder of EXPIRING)
        for (const file of attempt(pathOf(folder), () => filesIn(pathOf(folder))))
          if (at - statSync(file).mtimeMs > DAY_MS) rmSync(dirname(file), { recursive: true, force: true });
    },
    release() {
      const holder = holderOf(pathOf(LOCK));
      if (holder !== undefined && isSame(holder, own)) rmSync(pathOf(LOCK));
    },
  };
}

interface Holder {
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since the epoch: in a container every process has the id 1. */
  readonly start: number;
}

function lock(directory: string, own: Holder, now: number): void {
  const path = join(directory, LOCK);
  for (;;) {
    try {
      const file = openSync(path, 'wx', 0o600);
      writeFileSync(file, JSON.stringify(own));
      closeSync(file);
      utimesSync(path, now / 1_000, now / 1_000);
      return;
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw failure('unavailable', path, systemErrorWords(error));
      const holder = holderOf(path);
      if (holder !== undefined && isAlive(holder, own, now - statSync(path).mtimeMs)) throw inUse(directory, holder);
      rmSync(path, { force: true });
    }
  }
}

function inUse(directory: string, { pid, host }: Holder): UsageError {
  return new UsageError(
    `${directory} is in use by process ${pid} on ${host}: stop it, or name another directory with --state.`,
  );
}

function isSame(one: Holder, other: Holder): boolean {
  return one.pid === other.pid && one.host === other.host && one.start === other.start;
}

function holderOf(path: string): Holder | undefined {
  try {
    const { host, pid, start }: Holder = JSON.parse(readFileSync(path, 'utf8'));
    return { host, pid, start };
  } catch {
    return undefined;
  }
}

function isAlive({ host, pid, start }: Holder, own: Holder, ageMs: number): boolean {
  if (ageMs > DEAD_MS) return false;
  if (host !== own.host) return true;
  if (pid === own.pid) return start === own.start;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemErrorCode(error) === 'EPERM';
  }
}

function write(directory: string, path: string, bytes: Uint8Array): void {
  const temporary = join(directory, UNWRITTEN, randomUUID());
  for (const file of [path, temporary]) make(dirname(file));
  try {
    writeFileSync(temporary, bytes, { mode: 0o600 });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function bytesAt(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw failure('unavailable', path, systemErrorWords(error));
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.gz'))
      .map(({ parentPath, name }) => join(parentPath, name));
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function etagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A recursive `mkdirSync` never ends below /proc (Node.js 24). */
function make(directory: string): void {
  if (existsSync(directory)) return;
  make(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(directory)) throw error;
  }
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AwsError) throw error;
    throw failure('unavailable', path, systemErrorWords(error));
  }
}

function failure(kind: AwsError['kind'], object: string, problem: string): AwsError {
  return new AwsError({ kind, object, problem, remedy: 'Check the disk and the rights of the directory of --state.' });
}
