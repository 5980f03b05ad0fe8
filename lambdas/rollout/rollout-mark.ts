import { createHash } from 'node:crypto';
import type { HoldMark, RolloutMark, RolloutTrigger } from '../contracts/rollout-mark.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import { printable } from '../printable.ts';
import { timestamp } from '../time.ts';
import { timeOf } from '../words.ts';

/** Clocks of API servers differ: a start in the future would begin nothing until the next resync of Cluster API. */
const BEFORE_NOW_MS = 5000;

/** The start of a rollout planned now: whole seconds, as in Kubernetes. Milliseconds since the epoch. */
export function startOf(now: number): number {
  return Math.floor((now - BEFORE_NOW_MS) / 1000) * 1000;
}

/** @param start milliseconds since the epoch, whole seconds */
export function markOf(cluster: string, start: number, reason: string, trigger: RolloutTrigger): RolloutMark {
  const written = seconds(start);
  return { id: rolloutId(cluster, written), start: written, reason: printable(reason), trigger };
}

/** Deterministic id of a rollout: `20261122-3f9a0c12d4`. */
export function rolloutId(cluster: string, start: string): string {
  const digest = createHash('sha256').update(`${cluster}\n${start}`).digest('hex');
  return `${start.slice(0, 10).replaceAll(/\D/g, '')}-${digest.slice(0, 10)}`;
}

/** Undefined if its start is invalid: then the whole mark is ignored. */
export function startOfMark(mark: RolloutMark): number | undefined {
  return timeOf(mark.start);
}

/** @param reasons the first is the one that it is held for */
export function holdOf(mark: RolloutMark, reasons: readonly HoldReason[], now: number): HoldMark {
  return {
    id: mark.id,
    at: seconds(now),
    reason: reasons[0]?.id ?? 'unseen',
    message: printable(
      reasons.map(({ object, message }) => [object, message].filter(Boolean).join(': ')).join('; '),
      500,
    ),
  };
}

/** RFC 3339 in whole seconds. */
export function seconds(time: number): string {
  return timestamp(time).replace(/\.\d+Z$/, 'Z');
}
