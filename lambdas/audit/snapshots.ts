import type { Snapshot } from '../contracts/snapshot.ts';

export interface StoredSnapshot {
  /** Undefined if it is damaged; then it is overwritten. */
  readonly snapshot: Snapshot | undefined;
  /** Etag of the version that was read, for a write that replaces only that one. */
  readonly etag: string;
}

/** The newest snapshot of every cluster. */
export interface Snapshots {
  /**
   * @param id of the cluster
   * @returns undefined when there is none
   * @throws AwsError
   */
  read(id: string, signal: AbortSignal): Promise<StoredSnapshot | undefined>;
  /**
   * @param etag of the snapshot to replace; undefined if there must be none
   * @throws AwsError of kind `conflict` if another writer replaced it
   */
  write(snapshot: Snapshot, etag: string | undefined, signal: AbortSignal): Promise<void>;
}
