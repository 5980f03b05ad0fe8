import { createHash, randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AwsError } from '../aws/errors.ts';
import { makeDirectory } from './make-directory.ts';
import { decodeSnapshot, encodeSnapshot, MAX_SNAPSHOT } from './snapshot-file.ts';
import type { Snapshots } from './snapshots.ts';

/** Encoded, as an id can have characters that a file name cannot. */
export function snapshotFileName(id: string): string {
  return `${encodeURIComponent(id)}.json.gz`;
}

/**
 * Snapshots as files of a directory, `<id>.json.gz`, which is created if missing. A reader sees either the old or the
 * new file, never a part. There is no lock: a writer detects another one by the etag of what it replaces.
 */
export function directorySnapshots(directory: string): Snapshots {
  const fileOf = (id: string) => join(directory, snapshotFileName(id));
  return {
    async read(id) {
      const bytes = await contentOf(fileOf(id));
      if (bytes === undefined) return undefined;
      return { snapshot: bytes === 'too-large' ? undefined : await decodeSnapshot(bytes), etag: etagOf(bytes) };
    },
    async write(snapshot, etag) {
      const file = fileOf(snapshot.cluster);
      const bytes = await encodeSnapshot(snapshot);
      await makeDirectory(directory);
      const written = join(directory, `.${randomUUID()}.tmp`);
      try {
        await writeDurably(written, bytes);
        if (etag === undefined) await createOnly(written, file);
        else {
          const found = await contentOf(file);
          if (found === undefined || etagOf(found) !== etag) throw conflict(file);
          await rename(written, file);
        }
      } finally {
        await rm(written, { force: true });
      }
    },
  };
}

async function contentOf(file: string): Promise<Buffer | 'too-large' | undefined> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      return size > MAX_SNAPSHOT ? 'too-large' : await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function etagOf(content: Buffer | 'too-large'): string {
  return content === 'too-large' ? content : createHash('sha256').update(content).digest('hex');
}

/** A crash leaves the old file or the new one. Only its owner may read it, as it names machines. */
async function writeDurably(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function createOnly(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? conflict(to) : error;
  }
}

function conflict(file: string): AwsError {
  return new AwsError({
    kind: 'conflict',
    object: `snapshot ${file}`,
    problem: 'another audit wrote it meanwhile',
    remedy: 'Nothing is lost; the next audit continues from that one.',
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
