import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import { bare, brief, terse } from './brief-cluster.ts';

/** Bytes of JSON: three quarters of the largest object that is written, so that an index at its bound has room for the next batch of outcomes. */
export const MAX_INDEX_SIZE = 24 * 1024 * 1024;

/**
 * The index in at most `most` bytes of JSON, whatever clusters say: an index that nobody can write makes everybody blind. Pure; twice is once.
 *
 * Every cluster has the same share, and what a small one leaves of its own is shared by the others. Clusters that are larger than their
 * share are cut to {@link brief}; when that is not enough, to {@link terse}, then to {@link bare}. One that was cut says so.
 *
 * @returns the very same index when it fits; one that is larger when even the bare clusters do not fit
 */
export function boundIndex(index: FleetIndex, most: number = MAX_INDEX_SIZE): FleetIndex {
  if (bytesOf(index) <= most) return index;
  const room = most - bytesOf({ ...index, clusters: {} });
  const whole = Object.values(index.clusters).map(sized);
  const cut = [brief, terse, bare].reduce((clusters, less) => inShares(clusters, less, room), whole);
  return { ...index, clusters: Object.fromEntries(cut.map(({ cluster }) => [cluster.id, cluster])) };
}

interface Sized {
  readonly cluster: IndexedCluster;
  readonly bytes: number;
}

function inShares(clusters: Sized[], less: (cluster: IndexedCluster) => IndexedCluster, room: number): Sized[] {
  const share = shareOf(clusters, room);
  return clusters.map((one) => {
    if (one.bytes <= share) return one;
    const cut = sized({ ...less(one.cluster), cut: true });
    return cut.bytes < one.bytes ? cut : one;
  });
}

/** The largest share with which all of them are in the room, when each takes no more than its share. */
function shareOf(clusters: readonly Sized[], room: number): number {
  let left = room;
  const sorted = clusters.map(({ bytes }) => bytes).toSorted((a, b) => a - b);
  for (const [n, bytes] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - n));
    if (bytes > share) return share;
    left -= bytes;
  }
  return room;
}

function sized(cluster: IndexedCluster): Sized {
  return { cluster, bytes: bytesOf(cluster.id) + bytesOf(cluster) + 2 };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
