import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import type { RegisteredCluster, Registry } from '../contracts/registry.ts';
import { isJustRebuilt } from '../health/rebuilt.ts';
import { entryOf } from '../tables/keys.ts';

/**
 * A registry that was just rebuilt, with every cluster found when the index first heard of it: else the times in the
 * index would be those of an earlier cluster. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function foundBefore(registry: Registry, index: FleetIndex | undefined, now: number): Registry {
  if (!isJustRebuilt(registry.rebuiltAt, now)) return registry;
  const clusters = Object.entries(registry.clusters).map(([id, cluster]) => [
    id,
    { ...cluster, foundAt: firstOf(cluster, entryOf(index?.clusters, id)) },
  ]);
  return { ...registry, clusters: Object.fromEntries(clusters) };
}

function firstOf({ foundAt }: RegisteredCluster, indexed: IndexedCluster | undefined): string {
  if (indexed === undefined) return foundAt;
  const { sweptAt, readableAt = sweptAt, completeAt = sweptAt, audit, findings } = indexed;
  const times = [foundAt, sweptAt, readableAt, completeAt, ...findings.map(({ since }) => since)].map(Date.parse);
  const first = Math.min(...times, Date.parse(audit?.auditedAt ?? foundAt));
  return new Date(first).toISOString();
}
