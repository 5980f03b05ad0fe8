import { type BucketOptions, createByteObjects } from '../aws/byte-objects.ts';
import { createObjectList, type ListedObject, type ObjectList } from '../aws/object-list.ts';
import { MAX_JOURNAL_OBJECT } from './s3-journal.ts';

/** A journal that is only read: a bucket, or a copy of one. */
export interface JournalFiles extends ObjectList {
  /**
   * @returns undefined when there is no such object, `too-large` when none of ours is so large
   * @throws AwsError, or an error of the file system
   */
  read(key: string, signal: AbortSignal): Promise<Buffer | 'too-large' | undefined>;
}

/** The journal in a bucket. */
export function s3JournalFiles(options: BucketOptions): JournalFiles {
  const objects = createByteObjects({
    ...options,
    largest: MAX_JOURNAL_OBJECT,
    contentType: 'application/x-ndjson',
  });
  return {
    ...createObjectList(options),
    async read(key, signal) {
      const found = await objects.read(key, signal);
      return found && (found.bytes ?? 'too-large');
    },
  };
}

export type { ListedObject };
