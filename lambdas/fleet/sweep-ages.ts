import type { FleetIndex } from '../contracts/fleet-index.ts';
import type { Registry } from '../contracts/registry.ts';
import { entryOf } from '../tables/keys.ts';

export interface SweepAge {
  readonly id: string;
  /**
   * Since the start of the last sweep that tried to reach it, successful or not; since it was found if there was none.
   */
  readonly ageMs: number;
}

/**
 * How long ago each cluster was swept: whether certmarshal itself works. A cluster that does not answer, is missing or
 * cannot be swept is a finding of that cluster, not an age. A sweep that never got to the cluster does not count.
 *
 * @param now milliseconds since the epoch
 */
export function sweepAges(registry: Registry, index: FleetIndex | undefined, now: number): readonly SweepAge[] {
  return Object.values(registry.clusters)
    .filter(({ target }) => target !== undefined)
    .map(({ id, foundAt }) => {
      const triedAt = entryOf(index?.clusters, id)?.triedAt;
      return { id, ageMs: Math.max(0, now - Date.parse(triedAt ?? foundAt)) };
    });
}
