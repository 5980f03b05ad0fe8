import type { FleetIndex } from './fleet-index.ts';
import type { Registry } from './registry.ts';
import { entryOf } from './shape.ts';

export interface SweepAge {
  readonly id: string;
  /** Since the last sweep that could list the requests; since it was found when there was none. */
  readonly ageMs: number;
}

/**
 * For how long nothing is known of each cluster, also of those that cannot be swept. A cluster that is missing has no age: that it is
 * missing is a finding of its own.
 *
 * @param now milliseconds since the epoch
 */
export function sweepAges(registry: Registry, index: FleetIndex | undefined, now: number): readonly SweepAge[] {
  return Object.values(registry.clusters)
    .filter(({ missingSince }) => missingSince === undefined)
    .map(({ id, foundAt }) => {
      const readableAt = entryOf(index?.clusters, id)?.readableAt;
      return { id, ageMs: Math.max(0, now - Date.parse(readableAt ?? foundAt)) };
    });
}
