import type { FleetIndex } from '../contracts/fleet-index.ts';
import type { Registry } from '../contracts/registry.ts';
import { isJustRebuilt } from '../health/rebuilt.ts';
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
 * cannot be swept is a finding of that cluster, not an age. A sweep that never got to the cluster does not count. Nor
 * does a cluster that a just rebuilt index has not heard of.
 *
 * @param now milliseconds since the epoch
 */
export function sweepAges(registry: Registry, index: FleetIndex | undefined, now: number): readonly SweepAge[] {
  const isNew = isJustRebuilt(index?.rebuiltAt, now);
  return Object.values(registry.clusters).flatMap(({ id, foundAt, target }) => {
    const { triedAt } = entryOf(index?.clusters, id) ?? {};
    if (target === undefined || (triedAt === undefined && isNew)) return [];
    return [{ id, ageMs: Math.max(0, now - Date.parse(triedAt ?? foundAt)) }];
  });
}
