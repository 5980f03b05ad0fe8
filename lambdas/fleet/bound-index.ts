import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import { bare, brief, terse } from './brief-cluster.ts';

/** Bytes of JSON: three quarters of the largest object that is written, so that an index at its bound has room for the next batch of outcomes. */
export const MAX_INDEX_SIZE = 24 * 1024 * 1024;

/**
 * The index in at most `most` bytes of JSON, whatever clusters say: an index that nobody can write makes everybody blind. Pure; twice is once.
 *
 * Clusters are cut to {@link brief}, the largest first, until all fit; only when all are brief, to {@link terse}, then to {@link bare}. One that was cut says so.
 *
 * @returns the very same index when it fits; one that is larger when even the bare clusters do not fit
 */
export function boundIndex(index: FleetIndex, most: number = MAX_INDEX_SIZE): FleetIndex {
  const room = most - bytesOf({ ...index, clusters: {} });
  let clusters = Object.values(index.clusters).map(sized);
  let total = clusters.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= room) return index;
  for (const less of [brief, terse, bare]) {
    clusters = clusters
      .toSorted((a, b) => b.bytes - a.bytes)
      .map((one) => {
        if (total <= room) return one;
        const cut = sized({ ...less(one.cluster), cut: true });
        if (cut.bytes >= one.bytes) return one;
        total -= one.bytes - cut.bytes;
        return cut;
      });
  }
  const byId = new Map(clusters.map(({ cluster }) => [cluster.id, cluster]));
  return {
    ...index,
    clusters: Object.fromEntries(Object.entries(index.clusters).map(([id, cluster]) => [id, byId.get(id) ?? cluster])),
  };
}

interface Sized {
  readonly cluster: IndexedCluster;
  readonly bytes: number;
}

function sized(cluster: IndexedCluster): Sized {
  return { cluster, bytes: bytesOf(cluster.id) + bytesOf(cluster) + 2 };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
