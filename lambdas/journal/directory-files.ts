import type { Dirent } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JournalFiles, ListedObject } from './journal-files.ts';
import { LARGEST_JOURNAL_OBJECT } from './s3-journal.ts';

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
        return (await file.stat()).size > LARGEST_JOURNAL_OBJECT ? 'too-large' : await file.readFile();
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
