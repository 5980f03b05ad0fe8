import type { Provider } from '../approval/policy.ts';
import type { ExpiryFinding } from './finding.ts';
import type { Observation } from './observation.ts';
import type { Snapshot } from './snapshot.ts';
import type { Thresholds } from './thresholds.ts';

export interface AssessedCluster {
  /** As in {@link Snapshot}. */
  readonly id: string;
  readonly provider: Provider;
}

export interface Assessment {
  /** The worst first, then by what bites first. */
  readonly findings: readonly ExpiryFinding[];
  /** What was seen now, and what is kept of before. */
  readonly observations: readonly Observation[];
}

/**
 * What of all that was seen will bite, bites, or is not known. Pure; never throws.
 *
 * No failed read removes a finding, lowers its severity, or moves its date: an observation of before is dropped only where its source was read
 * to its end, and its place did not fail; until then it counts as if it was made now.
 *
 * @param previous of the same cluster
 * @param now milliseconds since the epoch
 */
export function assessExpiry(
  cluster: AssessedCluster,
  observations: readonly Observation[],
  previous: Snapshot | undefined,
  thresholds: Thresholds,
  now: number,
): Assessment {
  throw new Error(`not built: ${JSON.stringify([cluster, observations, previous, thresholds, now])}`);
}
