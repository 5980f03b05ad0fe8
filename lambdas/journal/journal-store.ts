import { type BucketOptions, type ByteObjects, createByteObjects } from '../aws/byte-objects.ts';
import { createObjectList, type ObjectList } from '../aws/object-list.ts';

/** The largest object or head that is read or written, in bytes. */
export const MAX_JOURNAL_OBJECT = 32 * 1024 * 1024;

/**
 * Storage of a journal: a bucket, or a directory with the same layout. Calls throw an AwsError, or an error of the file
 * system.
 */
export interface JournalStore extends ByteObjects, ObjectList {}

export function s3JournalStore(options: BucketOptions): JournalStore {
  return {
    ...createByteObjects({ ...options, largest: MAX_JOURNAL_OBJECT, contentType: 'application/x-ndjson' }),
    ...createObjectList(options),
  };
}
