import type { Snapshot } from '../contracts/snapshot.ts';

export interface StoredSnapshot {
  /** Undefined when it is damaged: then it is only good to be written anew. */
  readonly snapshot: Snapshot | undefined;
  /** Of the version that was read, for a write that replaces just that one. */
  readonly etag: string;
}

/** The newest snapshot of every cluster: objects of a bucket, or files of a directory. */
export interface Snapshots {
  /**
   * @param id of the cluster
   * @returns undefined when there is none
   * @throws AwsError, or the error of the file system
   */
  read(id: string, signal: AbortSignal): Promise<StoredSnapshot | undefined>;
  /**
   * @param etag of what it replaces; undefined when there must be none
   * @throws AwsError of kind `conflict` when it is another one by now
   */
  write(snapshot: Snapshot, etag: string | undefined, signal: AbortSignal): Promise<void>;
}
