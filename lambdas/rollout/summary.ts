import { ROLLOUT_ID } from '../contracts/rollout-mark.ts';
import {
  type HoldReason,
  MAX_MACHINES,
  MAX_REASONS,
  type MachineSummary,
  type ProgressSummary,
  ROLLOUT_LIMITS,
  type RolloutSummary,
} from '../contracts/rollout-summary.ts';
import { printable } from '../printable.ts';
import { LAST_INSTANT } from '../time.ts';
import { isInTheWay, reasonsOf } from './plan-begin.ts';
import type { MachineProgress, RolloutProgress } from './progress.ts';
import type { RolloutStep } from './step.ts';
import type { RolloutStepped } from './step-rollout.ts';

/** The state of a cluster's rollout, for people. Pure, and a value for every input. */
export function summaryOf({ step, written, at }: Pick<RolloutStepped, 'step' | 'written' | 'at'>): RolloutSummary {
  const { state, message, checks, soonestEnd, span, nextWindow, progress } = step;
  const write = 'write' in step ? step.write : undefined;
  const reasons = 'reasons' in step && step.reasons.length > 0 ? step.reasons : reasonsOf(checks.filter(isInTheWay));
  return {
    state,
    message: printable(message, ROLLOUT_LIMITS.message),
    at,
    reasons: reasons.slice(0, MAX_REASONS).map(bounded),
    reasonCount: reasons.length,
    rollout: rolloutOf(step),
    soonestEnd: textOf(soonestEnd),
    span: spanOf(span),
    nextWindow: textOf(nextWindow),
    progress: progress && progressOf(progress),
    durationMs: durationOf(step),
    write: write && written && { kind: write.kind, outcome: written.kind },
  };
}

/**
 * Whether a rollout needs a step every minute: it is in progress, waits for a person, is not at rest after an abort, or
 * was just written to and the result is unknown.
 */
export function isUnderWay({ state, progress, write }: RolloutSummary): boolean {
  if (state === 'rolling' || state === 'verifying' || state === 'held' || wasSent(write)) return true;
  if (state !== 'aborted') return false;
  return [progress?.machines, progress?.etcd?.machines].flatMap((machines = []) => machines).some(isMoving);
}

function isMoving(machine: MachineSummary): boolean {
  return machine.state === 'new' || machine.state === 'leaving';
}

function wasSent(write: RolloutSummary['write']): boolean {
  return write?.outcome === 'written' || write?.outcome === 'unknown';
}

function rolloutOf({ mark }: RolloutStep): RolloutSummary['rollout'] {
  const start = textOf(mark && Date.parse(mark.start));
  if (mark === undefined || start === undefined || !ROLLOUT_ID.test(mark.id)) return undefined;
  const { id, trigger, abortedAt } = mark;
  return { id, start, trigger, abortedAt: textOf(abortedAt && Date.parse(abortedAt)) };
}

function spanOf(span: RolloutStep['span']): RolloutSummary['span'] {
  const [from, until] = [textOf(span?.from), textOf(span?.until)];
  return from === undefined || until === undefined ? undefined : { from, until };
}

function durationOf({ state, mark, progress }: RolloutStep): number | undefined {
  if (state !== 'done' || mark === undefined || progress === undefined) return undefined;
  const duration = progress.movedAt - Date.parse(mark.start);
  return duration >= 0 && duration <= LAST_INSTANT ? Math.round(duration) : undefined;
}

function bounded({ object, message, remedy, ...reason }: HoldReason): HoldReason {
  return {
    ...reason,
    object: object && printable(object, ROLLOUT_LIMITS.object),
    message: printable(message, ROLLOUT_LIMITS.text),
    remedy: printable(remedy, ROLLOUT_LIMITS.text),
  };
}

function progressOf({ etcd, ...progress }: RolloutProgress): ProgressSummary {
  return { ...partOf(progress), ...(etcd === undefined ? {} : { etcd: partOf(etcd) }) };
}

function partOf({ wanted, replaced, verified, machines, movedAt }: Omit<RolloutProgress, 'etcd'>) {
  const sorted = machines.toSorted((a, b) => Number(isVerified(a)) - Number(isVerified(b)));
  return {
    wanted: whole(wanted),
    replaced: whole(replaced),
    verified: whole(verified),
    machines: sorted.slice(0, MAX_MACHINES).map(machineOf),
    movedAt: textOf(movedAt),
  };
}

function isVerified({ state }: MachineProgress): boolean {
  return state === 'verified';
}

function machineOf({ name, node, state, createdAt, served }: MachineProgress): MachineSummary {
  const certificate = served.kind === 'certificate' ? served : undefined;
  return {
    name: printable(name, ROLLOUT_LIMITS.name),
    state,
    node: node && printable(node, ROLLOUT_LIMITS.name),
    createdAt: textOf(createdAt),
    notBefore: textOf(certificate?.notBefore),
    notAfter: textOf(certificate?.notAfter),
  };
}

/** A count from a cluster. */
function whole(count: number): number {
  return Number.isSafeInteger(count) ? Math.max(0, count) : 0;
}

/** RFC 3339; undefined for an impossible time. */
function textOf(ms: number | '' | undefined): string | undefined {
  return typeof ms === 'number' && ms >= 0 && ms <= LAST_INSTANT ? new Date(ms).toISOString() : undefined;
}
