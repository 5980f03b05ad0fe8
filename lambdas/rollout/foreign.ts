import { date } from '../expiry/words.ts';
import type { ObservedControlPlane, ObservedMachine } from './observed.ts';

/**
 * What shows that somebody else rolls the control plane, or is going to; undefined where nothing does. Pure; for a control plane without a rollout of ours.
 *
 * @param now milliseconds since the epoch
 */
export function foreignRollout(
  { rolloutAfter, conditions, status, replicas }: ObservedControlPlane,
  machines: readonly ObservedMachine[],
  now: number,
): string | undefined {
  if (rolloutAfter !== undefined && !(rolloutAfter <= now)) return `a rollout is planned for ${date(rolloutAfter)}`;
  if (conditions.RollingOut.status === 'True') {
    return `Cluster API rolls it: ${conditions.RollingOut.message || conditions.RollingOut.reason || 'no reason is given'}`;
  }
  const old = machines.filter(
    ({ owned, createdAt }) => owned && rolloutAfter !== undefined && createdAt < rolloutAfter,
  );
  if (rolloutAfter !== undefined && old.length > 0) {
    return `${old.length} of ${machines.length} machines are older than the rollout of ${date(rolloutAfter)}`;
  }
  if (status.upToDate !== undefined && status.upToDate < replicas) {
    return `${status.upToDate} of ${replicas} machines are up to date`;
  }
  return undefined;
}
