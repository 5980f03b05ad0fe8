import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import { bare, brief, terse } from './brief-cluster.ts';

/**
 * Three quarters of the largest object that is written, so that an index at its bound has room for the next outcomes.
 * Bytes of JSON.
 */
export const MAX_INDEX_SIZE = 24 * 1024 * 1024;

/**
 * Bounds the index to `most` bytes of JSON, whatever clusters report: an index that cannot be written blinds everyone.
 * Pure, idempotent.
 *
 * Clusters are cut to {@link brief}, the largest first, until all fit; only when all are brief, to {@link terse}, then
 * to {@link bare}. A cut cluster says so.
 *
 * @returns the same object if it fits; a larger one if even bare clusters do not fit
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
