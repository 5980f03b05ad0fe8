import { readSnapshot } from '../contracts/snapshot.ts';
import type { State } from '../state.ts';
import { snapshotKey } from './s3-snapshots.ts';
import type { Snapshots } from './snapshots.ts';

/** Snapshots beside the rest of a state. */
export function createStateSnapshots(state: Pick<State, 'get' | 'put'>): Snapshots {
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
