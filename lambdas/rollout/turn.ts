import type { PastRollout } from '../contracts/rollout-ledger.ts';
import type { Lease } from '../resources/lease.ts';
import { HOUR_MS, isAhead } from '../time.ts';
import { openFor } from '../window/window.ts';
import { renewedCertificates, rolloutSpan } from './checks/span.ts';
import type { CheckQuestion } from './checks.ts';
import type { Sibling } from './observed.ts';

/**
 * For so long a rollout has its place in the budget of the fleet, and for so long of its own time a cluster waits for machines of others that hold no Lease: five
 * machines of bare metal take an hour each, and are verified an hour later. Milliseconds.
 */
export const TURN_MS = 6 * HOUR_MS;
/** For so long after it was taken a Lease is that of its rollout, whatever its cluster shows. Milliseconds. */
export const LEASE_TURN_MS = 72 * HOUR_MS;
/** A holder that gave no sign of life for so long, while nothing rolls, is gone. Milliseconds. */
export const LEASE_SILENT_MS = 24 * HOUR_MS;
/** A rollout that is due, and is kept waiting for so long, is told. Milliseconds. */
export const WAITED_MS = 72 * HOUR_MS;
/** What a cluster claims and never begins takes the turn of others too: after so many in `LOOP_GUARD_DAYS` a person has to look. */
export const MAX_UNDONE = 3;

/** Whether a rollout that was claimed still has its place in the budget of the fleet. Pure. */
export function hasTurn({ startedAt, endedAt }: Pick<PastRollout, 'startedAt' | 'endedAt'>, now: number): boolean {
  return endedAt === undefined && now - startedAt < TURN_MS;
}

/**
 * Whether the holder of a Lease keeps everyone else from beginning. A Lease without any time, or taken in a time to come, binds no one. Pure.
 *
 * @param siblings of which one may be the holder: while its machines move, it needs no sign of life. Leave it out where they were not read
 */
export function isBinding(lease: Lease, now: number, siblings: readonly Sibling[] = []): boolean {
  const { holder = '', acquiredAt, renewedAt } = lease;
  const since = acquiredAt ?? renewedAt;
  if (holder === '' || since === undefined || isAhead(since, now) || now - since > LEASE_TURN_MS) return false;
  const lastSign = renewedAt === undefined || isAhead(renewedAt, now) ? since : Math.max(since, renewedAt);
  if (!(now - lastSign > LEASE_SILENT_MS)) return true;
  return siblings.some((one) => one.rolling && holder.startsWith(`${one.namespace}/${one.cluster} `));
}

/** For how long it has been due. Pure. Milliseconds; undefined where it is not, or no one knows. */
export function dueFor({ observed, policy, now }: CheckQuestion): number | undefined {
  const from = rolloutSpan(renewedCertificates(observed), observed, policy)?.from;
  return from !== undefined && from <= now ? now - from : undefined;
}

/**
 * Whether it has been due for a turn of the time in which the schedule may begin it. The dates are its own and those of its fleet: nothing that happens to another
 * cluster makes this later. Pure.
 */
export function hasWaitedItsTurn(question: CheckQuestion): boolean {
  const { policy, now } = question;
  const due = dueFor(question);
  return due !== undefined && openFor(policy?.windows ?? [], { from: now - due, until: now }, TURN_MS) >= TURN_MS;
}
