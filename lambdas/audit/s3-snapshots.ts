import { type BucketOptions, createByteObjects } from '../aws/byte-objects.ts';
import { decodeSnapshot, encodeSnapshot, MAX_SNAPSHOT } from './snapshot-file.ts';
import type { Snapshots } from './snapshots.ts';

/** Prefix of the snapshots; IAM permissions name it. */
export const SNAPSHOT_PREFIX = 'snapshots/';

/** `snapshots/111122223333/eu-central-1/dublin.json.gz`: an id has no character that a key cannot have. */
export function snapshotKey(id: string): string {
  return `${SNAPSHOT_PREFIX}${id}.json.gz`;
}

/** Snapshots in a bucket, one object for each cluster; its versions are the history. */
export function createS3Snapshots(options: BucketOptions): Snapshots {
  const objects = createByteObjects({
    ...options,
    largest: MAX_SNAPSHOT,
    contentType: 'application/json',
    contentEncoding: 'gzip',
  });
  return {
    async read(id, signal) {
      const found = await objects.read(snapshotKey(id), signal);
      if (found === undefined) return undefined;
      const snapshot = found.bytes && (await decodeSnapshot(found.bytes));
      // A snapshot of another cluster says nothing about this one.
      return { snapshot: snapshot?.cluster === id ? snapshot : undefined, etag: found.etag };
    },
    async write(snapshot, etag, signal) {
      await objects.write(snapshotKey(snapshot.cluster), await encodeSnapshot(snapshot), etag, signal);
    },
  };
}
