import { createHash, randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ByteObjects } from '../aws/byte-objects.ts';
import { AwsError } from '../aws/errors.ts';
import type { Journal } from './journal.ts';
import type { JournalFiles, ListedObject } from './journal-files.ts';
import { createJournal, MAX_JOURNAL_OBJECT } from './s3-journal.ts';

/** A directory is made or not at once: who makes it may write. */
const LOCK = '.lock';
const LOOK_AGAIN_MS = 20;

/**
 * A journal in a directory, laid out as the bucket is: `certmarshal journal verify --directory` reads it. One process appends at a time, the others wait until their signal ends that. No
 * object is ever written over. Appends reject with an AwsError, or with an error of the file system where that fails.
 */
export function createDirectoryJournal(directory: string): Journal {
  const objects = directoryObjects(directory);
  const journal = createJournal({ heads: objects, lines: objects, list: directoryJournalFiles(directory) });
  return {
    async append(cluster, entries, signal) {
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
      if (!isThere(error)) throw error;
    }
    if (signal.aborted)
      throw new AwsError({
        kind: 'conflict',
        object: 'journal',
        problem: `another process writes there: ${lock} does not go away`,
        remedy: 'Where none does any more, remove it.',
      });
    await delay(LOOK_AGAIN_MS);
  }
}

/** A copy of the bucket in a directory, as `aws s3 sync` makes one. Links are not followed. */
export function directoryJournalFiles(directory: string): JournalFiles {
  async function* walk(folder: string): AsyncGenerator<ListedObject> {
    const entries = (await entriesOf(join(directory, folder))).map((entry) => ({
      entry,
      name: entry.isDirectory() ? `${entry.name}/` : entry.name,
    }));
    // The order of a bucket: that of the bytes of the whole key.
    for (const { entry, name } of entries.toSorted((a, b) =>
      Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)),
    )) {
      const key = folder + name;
      if (entry.isDirectory()) yield* walk(key);
      else if (entry.isFile()) yield { key, size: (await stat(join(directory, key))).size };
    }
  }

  return {
    async *objects(prefix, signal) {
      const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
      for await (const object of walk(folder)) {
        signal.throwIfAborted();
        if (object.key.startsWith(prefix)) yield object;
      }
    },
    async folders(prefix) {
      const entries = await entriesOf(join(directory, prefix));
      return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted();
    },
    async read(key) {
      const file = await open(join(directory, key)).catch(absent);
      if (file === undefined) return undefined;
      try {
        return (await file.stat()).size > MAX_JOURNAL_OBJECT ? 'too-large' : await file.readFile();
      } finally {
        await file.close();
      }
    },
  };
}

async function entriesOf(path: string): Promise<readonly Dirent[]> {
  return (await readdir(path, { withFileTypes: true }).catch(absent)) ?? [];
}

function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
    return undefined;
  throw error;
}

/** What a bucket does with conditional writes, in a directory, for one process at a time. The etag is the SHA-256 of the bytes. */
function directoryObjects(directory: string): ByteObjects {
  const files = directoryJournalFiles(directory);
  const read: ByteObjects['read'] = async (key, signal) => {
    const found = await files.read(requireKey(key), signal);
    if (found === 'too-large') return { bytes: undefined, etag: found };
    return found && { bytes: found, etag: etagOf(found) };
  };
  return {
    read,
    async write(key, bytes, etag, signal) {
      const path = join(directory, requireKey(key));
      const temporary = join(directory, `.${randomUUID()}`);
      if (bytes.length > MAX_JOURNAL_OBJECT) throw conflict(key, `it would be larger than ${MAX_JOURNAL_OBJECT} bytes`);
      if ((await read(key, signal))?.etag !== etag) throw conflict(key, 'it is another one by now');
      await mkdir(dirname(path), { recursive: true });
      try {
        await using file = await open(temporary, 'wx', 0o600);
        await file.writeFile(bytes);
        await file.sync();
        // A link is made only where nothing is.
        await (etag === undefined ? link(temporary, path) : rename(temporary, path));
      } catch (error) {
        if (isThere(error)) throw conflict(key, 'it is there by now');
        throw error;
      } finally {
        await rm(temporary, { force: true });
      }
      return etagOf(bytes);
    },
  };
}

function etagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A key has the name of a cluster in it, which may come from a kubeconfig: it leads nowhere else. */
function requireKey(key: string): string {
  if (key.split('/').every((part) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(part))) return key;
  throw new AwsError({
    kind: 'invalid',
    object: 'journal',
    problem: 'the id of the cluster has characters that no file of a journal has',
    remedy: 'Give the cluster another name with --cluster.',
  });
}

function conflict(key: string, problem: string): AwsError {
  return new AwsError({
    kind: 'conflict',
    object: `journal object ${key}`,
    problem,
    remedy: 'Find out who else writes to the directory: certmarshal journal verify --directory.',
  });
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
