import { readSnapshot, type Snapshot } from '../contracts/snapshot.ts';
import type { State } from '../state.ts';

/** Prefix of the snapshots; IAM permissions name it. */
export const SNAPSHOT_PREFIX = 'snapshots/';

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

/** `snapshots/111122223333/eu-central-1/dublin.json.gz`: an id has no character that a key cannot have. */
export function snapshotKey(id: string): string {
  return `${SNAPSHOT_PREFIX}${id}.json.gz`;
}

/** One object for each cluster; in a bucket with versions they are the history. */
export function createSnapshots(state: Pick<State, 'get' | 'put'>): Snapshots {
  return {
    async read(id, signal) {
      const stored = await state.get(snapshotKey(id), signal);
      const snapshot = stored && readSnapshot(stored.value);
      // A snapshot of another cluster says nothing about this one.
      return stored && { snapshot: snapshot?.cluster === id ? snapshot : undefined, etag: stored.etag };
    },
    async write(snapshot, etag, signal) {
      await state.put(snapshotKey(snapshot.cluster), snapshot, etag, signal);
    },
  };
}
