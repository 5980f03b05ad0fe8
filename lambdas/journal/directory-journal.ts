import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ByteObject } from '../aws/byte-objects.ts';
import { AwsError } from '../aws/errors.ts';
import type { ListedObject } from '../aws/object-list.ts';
import { sha256 } from './chain.ts';
import type { Journal } from './journal.ts';
import { type JournalStore, MAX_JOURNAL_OBJECT } from './journal-store.ts';
import { createJournal } from './s3-journal.ts';

/** Creating a directory is atomic: the process that creates it may write. */
const LOCK = '.lock';
const LOOK_AGAIN_MS = 20;

/**
 * A journal in a directory with the layout of the bucket: `certmarshal journal verify --directory` reads it. One
 * process appends at a time; others wait until their signal aborts. No object is ever overwritten. Appends reject with
 * an AwsError, or with an error of the file system.
 */
export function createDirectoryJournal(directory: string): Journal {
  const journal = createJournal(directoryJournalStore(directory));
  return {
    async append(cluster, entries, signal) {
      requireFileNames(cluster);
      const lock = join(directory, LOCK);
      await take(lock, signal);
      try {
        return await journal.append(cluster, entries, signal);
      } finally {
        await rmdir(lock);
      }
    },
  };
}

async function take(lock: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await mkdir(lock);
      return;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    if (signal.aborted)
      throw new AwsError({
        kind: 'conflict',
        object: 'journal',
        problem: `another process writes there: ${lock} does not go away`,
        remedy: 'If no process writes there any more, remove it.',
      });
    await delay(LOOK_AGAIN_MS);
  }
}

/** A cluster id may come from a kubeconfig: it must stay inside the directory. */
function requireFileNames(cluster: string): void {
  if (cluster.split('/').every((part) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(part))) return;
  throw new AwsError({
    kind: 'invalid',
    object: 'journal',
    problem: 'the id of the cluster has characters that a journal file cannot have',
    remedy: 'Give the cluster another name with --cluster.',
  });
}

/**
 * A directory with the layout of the bucket, for one writer at a time: a copy made by `aws s3 sync`, or a local
 * journal. Links are not followed.
 */
export function directoryJournalStore(directory: string): JournalStore {
  async function* walk(folder: string): AsyncGenerator<ListedObject> {
    const keys = (await entriesOf(join(directory, folder))).flatMap((entry) =>
      entry.isDirectory() ? `${folder}${entry.name}/` : entry.isFile() ? folder + entry.name : [],
    );
    for (const key of keys.toSorted())
      if (key.endsWith('/')) yield* walk(key);
      else yield { key, size: (await stat(join(directory, key))).size };
  }

  async function read(key: string): Promise<ByteObject | undefined> {
    await using file = await open(join(directory, key)).catch(absent);
    if (file === undefined) return undefined;
    if ((await file.stat()).size > MAX_JOURNAL_OBJECT) return { bytes: undefined, etag: 'too large' };
    const bytes = await file.readFile();
    return { bytes, etag: sha256(bytes) };
  }

  return {
    read,
    async write(key, bytes, etag) {
      if ((await read(key))?.etag !== etag)
        throw new AwsError({
          kind: 'conflict',
          object: `journal object ${key}`,
          problem: 'it was changed since it was read',
          remedy: 'Find out who else writes to the directory: certmarshal journal verify --directory.',
        });
      const path = join(directory, key);
      const temporary = join(directory, `.${randomUUID()}`);
      await mkdir(dirname(path), { recursive: true });
      try {
        await writeFile(temporary, bytes, { flag: 'wx', mode: 0o600, flush: true });
        // Fails where the file exists.
        await (etag === undefined ? link(temporary, path) : rename(temporary, path));
      } finally {
        await rm(temporary, { force: true });
      }
      return sha256(bytes);
    },
    async *objects(prefix, signal) {
      for await (const object of walk(prefix.slice(0, prefix.lastIndexOf('/') + 1))) {
        signal.throwIfAborted();
        if (object.key.startsWith(prefix)) yield object;
      }
    },
    async folders(prefix) {
      const entries = await entriesOf(join(directory, prefix));
      return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted();
    },
  };
}

async function entriesOf(path: string): Promise<readonly Dirent[]> {
  return (await readdir(path, { withFileTypes: true }).catch(absent)) ?? [];
}

function absent(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
}

function hasCode(error: unknown, ...codes: readonly unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}
