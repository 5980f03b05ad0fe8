import { createHash, randomUUID } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AwsError } from '../aws/errors.ts';
import { makeDirectory } from './make-directory.ts';
import { decodeSnapshot, encodeSnapshot, MAX_SNAPSHOT } from './snapshot-file.ts';
import type { Snapshots } from './snapshots.ts';

/** In its directory. A name of a cluster may hold what a file name must not. */
export function snapshotFileName(id: string): string {
  return `${encodeURIComponent(id)}.json.gz`;
}

/**
 * Snapshots as files of a directory, `<id>.json.gz`, made where it is missing. A reader sees either the old or the new file and never a part of
 * one; two writers at the same instant are told apart by what they replace, not by a lock.
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

/** What a crash leaves is the old file or the new one. Names of machines are in it: it is its owner's. */
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
