import type { PastRollout } from '../contracts/rollout-ledger.ts';
import type { Lease } from '../resources/lease.ts';
import { HOUR_MS, isAhead } from '../time.ts';
import { openFor } from '../window/window.ts';
import { renewedCertificates, rolloutSpan } from './checks/span.ts';
import type { CheckQuestion } from './checks.ts';
import type { Sibling } from './observed.ts';

/**
 * How long a rollout keeps its place in the budget of the fleet, and how long of its own time a cluster waits for
 * machines of others without a Lease: five machines of bare metal take an hour each, and are verified an hour later.
 * Milliseconds.
 */
export const TURN_MS = 6 * HOUR_MS;
/** How long a taken Lease belongs to its rollout, whatever its cluster shows. Milliseconds. */
export const LEASE_TURN_MS = 72 * HOUR_MS;
/** A holder without activity for this long, while nothing rolls, is gone. Milliseconds. */
export const LEASE_SILENT_MS = 24 * HOUR_MS;
/** A due rollout that waits longer than this is reported. Milliseconds. */
export const WAITED_MS = 72 * HOUR_MS;
/** Claims that never begin use up the turns of others: after this many in `LOOP_GUARD_DAYS` a person must check. */
export const MAX_UNDONE = 3;

/** Whether a claimed rollout still has its place in the budget of the fleet. Pure. */
export function hasTurn({ startedAt, endedAt }: Pick<PastRollout, 'startedAt' | 'endedAt'>, now: number): boolean {
  return endedAt === undefined && now - startedAt < TURN_MS;
}

/**
 * Whether the holder of a Lease stops all others from beginning. A Lease without a time, or with a future one, binds no
 * one. Pure.
 *
 * @param siblings one of which may be the holder: while its machines move, it needs no renewal. Undefined if not read
 */
export function isBinding(lease: Lease, now: number, siblings: readonly Sibling[] = []): boolean {
  const { holder = '', acquiredAt, renewedAt } = lease;
  const since = acquiredAt ?? renewedAt;
  if (holder === '' || since === undefined || isAhead(since, now) || now - since > LEASE_TURN_MS) return false;
  const lastSign = renewedAt === undefined || isAhead(renewedAt, now) ? since : Math.max(since, renewedAt);
  if (!(now - lastSign > LEASE_SILENT_MS)) return true;
  return siblings.some((one) => one.rolling && holder.startsWith(`${one.namespace}/${one.cluster} `));
}

/** How long it has been due. Pure. Milliseconds; undefined if not due or unknown. */
export function dueFor({ observed, policy, now }: CheckQuestion): number | undefined {
  const from = rolloutSpan(renewedCertificates(observed), observed, policy)?.from;
  return from !== undefined && from <= now ? now - from : undefined;
}

/**
 * Whether it has been due for one turn of the time in which the schedule may begin it. Uses dates of itself and its
 * fleet only: no event on another cluster delays it. Pure.
 */
export function hasWaitedItsTurn(question: CheckQuestion): boolean {
  const { policy, now } = question;
  const due = dueFor(question);
  return due !== undefined && openFor(policy?.windows ?? [], { from: now - due, until: now }, TURN_MS) >= TURN_MS;
}
