import { stat } from 'node:fs/promises';
import { parseDuration } from '../../../lambdas/config/duration.ts';
import { directoryJournalStore } from '../../../lambdas/journal/directory-journal.ts';
import type { JournalStore } from '../../../lambdas/journal/journal-store.ts';
import { printable } from '../../../lambdas/printable.ts';
import { requireBucketName, requireRegion } from '../../aws-region.ts';
import { UsageError } from '../../exit-codes.ts';
import { systemErrorWords } from '../../system-error.ts';

export interface JournalSource {
  readonly bucket?: string;
  /** Directory with a copy of the bucket. */
  readonly directory?: string;
}

export interface OpenJournal {
  readonly store: JournalStore;
  readonly name: string;
}

/** @throws UsageError without exactly one journal, or without a Region */
export async function openJournal({ bucket, directory }: JournalSource): Promise<OpenJournal> {
  if ((bucket === undefined) === (directory === undefined))
    throw new UsageError('Name the journal: either --bucket NAME, or --directory of a copy of it.');
  if (directory !== undefined) return { store: await openDirectory(directory), name: printable(directory) };
  const name = requireBucketName(bucket ?? '');
  const [{ S3Client }, { s3JournalStore }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../../lambdas/journal/journal-store.ts'),
  ]);
  const client = new S3Client();
  await requireRegion(client);
  return { store: s3JournalStore({ client, bucket: name }), name };
}

async function openDirectory(directory: string): Promise<JournalStore> {
  const store = directoryJournalStore(directory);
  const { signal } = new AbortController();
  try {
    if (!(await stat(directory)).isDirectory())
      throw new UsageError(`--directory ${printable(directory)} is not a directory.`);
    const folders = await store.folders('', signal);
    if (!folders.includes('journal') && !folders.includes('heads'))
      throw new UsageError(
        `${printable(directory)} is not a copy of a journal: it has neither journal/ nor heads/. aws s3 sync s3://BUCKET ${printable(directory)}`,
      );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `--directory ${printable(directory)} cannot be read: ${systemErrorWords(error)}. Name a copy of the journal: aws s3 sync s3://BUCKET DIRECTORY`,
    );
  }
  return store;
}

/**
 * The time `duration` before `now`. Milliseconds since the epoch.
 *
 * @throws UsageError
 */
export function sinceOf(duration: string, now: number): number {
  const seconds = parseDuration(duration) ?? 0;
  const since = now - seconds * 1000;
  if (seconds < 1 || since < 0)
    throw new UsageError(`--since takes a duration, for example 30d; got ${printable(duration)}.`);
  return since;
}
