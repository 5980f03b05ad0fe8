import { DAY_MS } from '../time.ts';
import { date } from '../words.ts';
import type { ObservedControlPlane, ObservedMachine } from './observed.ts';

/**
 * What shows that someone else rolls the control plane, or is about to; undefined if nothing does. Pure; for a control
 * plane without a rollout of ours.
 *
 * @param now milliseconds since the epoch
 */
export function foreignRollout(
  { rolloutAfter = Number.NEGATIVE_INFINITY, conditions, status, replicas }: ObservedControlPlane,
  machines: readonly ObservedMachine[],
  now: number,
): string | undefined {
  if (!(rolloutAfter <= now)) return `a rollout is planned for ${date(rolloutAfter)}`;
  if (conditions.RollingOut.status === 'True') {
    return `Cluster API rolls it: ${conditions.RollingOut.message || conditions.RollingOut.reason || 'no reason is given'}`;
  }
  const old = machines.filter(({ owned, createdAt }) => owned && createdAt < rolloutAfter);
  if (old.length > 0) {
    return `${old.length} of ${machines.length} machines are older than the rollout of ${date(rolloutAfter)}`;
  }
  if (status.upToDate !== undefined && status.upToDate < replicas) {
    return `${status.upToDate} of ${replicas} machines are up to date`;
  }
  return undefined;
}

/**
 * Since when, according to Cluster API, the request, or the last movement. Milliseconds since the epoch; since ever if
 * nothing says, or if it is planned for more than a day ahead.
 */
export function foreignSince(
  { rolloutAfter, conditions: { RollingOut, ScalingUp, ScalingDown } }: ObservedControlPlane,
  machines: readonly ObservedMachine[],
  now: number,
): number {
  if (rolloutAfter !== undefined && !(rolloutAfter <= now))
    return rolloutAfter <= now + DAY_MS ? now : Number.NEGATIVE_INFINITY;
  const told = RollingOut.status === 'True' ? RollingOut.since : rolloutAfter;
  if (told !== undefined) return told <= now ? told : Number.NEGATIVE_INFINITY;
  return [...machines.map(({ createdAt }) => createdAt), RollingOut.since, ScalingUp.since, ScalingDown.since].reduce(
    (newest: number, moved) => (moved !== undefined && moved <= now ? Math.max(newest, moved) : newest),
    Number.NEGATIVE_INFINITY,
  );
}
