import { printable } from '../printable.ts';
import type { RolloutTrigger } from '../rollout/annotations.ts';
import type { MachineProgress, RolloutProgress } from '../rollout/progress.ts';
import type { HoldReason, RolloutCheck, RolloutState, RolloutStep, RolloutWrite } from '../rollout/step.ts';
import type { RolloutWritten } from '../rollout-step/act-rollout.ts';
import type { NodeGroupWritten } from '../rollout-step/step-node-groups.ts';
import type { RolloutStepped } from '../rollout-step/step-rollout.ts';
import { fitting } from './fitting.ts';
import { present } from './shape.ts';

/** What people are told of the rollout of one cluster: plain data, bounded, times as RFC 3339. */
export interface RolloutSummary {
  readonly state: RolloutState;
  /** The whole story in one sentence, without a full stop. */
  readonly message: string;
  /** When it was looked at. */
  readonly at: string;
  /** Of ours, that goes on or was the last. */
  readonly rollout?: {
    readonly id: string;
    readonly start: string;
    readonly trigger: RolloutTrigger;
    readonly abortedAt?: string;
  };
  /** When the first certificate ends that a rollout would renew. */
  readonly soonestEnd?: string;
  /** In which the schedule may begin: after `until` only a person can. */
  readonly span?: { readonly from: string; readonly until: string };
  /** When a maintenance window opens next, where there are any and none is open. */
  readonly nextWindow?: string;
  /** The first checks of `failedCount` that keep it from beginning. */
  readonly failed: readonly FailedCheck[];
  readonly failedCount: number;
  /** Why nothing goes on by itself; the first ones of what can be few. */
  readonly reasons: readonly HoldReason[];
  readonly progress?: ProgressSummary;
  /** From the start to the last sign of life, once it is done. */
  readonly durationMs?: number;
  /** What this look wrote, or tried to. */
  readonly write?: {
    readonly kind: RolloutWrite['kind'] | 'update-node-group';
    readonly outcome: RolloutWritten['kind'] | NodeGroupWritten['kind'];
  };
}

/** A check that did not pass. */
export interface FailedCheck extends Pick<RolloutCheck, 'object' | 'found' | 'remedy' | 'passing'> {
  /** A page of the runbooks: `docs/runbooks/rollouts/<id>.md`. */
  readonly id: string;
}

export interface ProgressSummary {
  readonly wanted: number;
  readonly replaced: number;
  readonly verified: number;
  /** Those that are not verified first. */
  readonly machines: readonly MachineSummary[];
  readonly movedAt?: string;
  /** Of external etcd. */
  readonly etcd?: Omit<ProgressSummary, 'etcd'>;
}

export interface MachineSummary extends Pick<MachineProgress, 'name' | 'node' | 'state'> {
  readonly createdAt?: string;
  /** Of the certificate that it serves, where a handshake showed one. */
  readonly notBefore?: string;
  readonly notAfter?: string;
}

/** Characters; what is longer is cut. */
export const ROLLOUT_LIMITS = { message: 400, object: 200, text: 300, name: 253 } as const;
export const MOST_FAILED = 20;
export const MOST_REASONS = 10;
/** Of the control plane, and of etcd. */
export const MOST_MACHINES = 9;
export const PAGE_ID = /^[a-z][a-z0-9-]{0,59}$/;
export const ROLLOUT_ID = /^[a-z0-9-]{1,26}$/;

/** Bytes of JSON, each. */
const CHECKS_SIZE = 5_000;
const REASONS_SIZE = 3_000;
const MACHINES_SIZE = 3_000;
/** The end of the year 9999. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** What a look at the rollout of a cluster came to, for people. Pure, and a value for every input. */
export function summaryOf({ step, written, at }: Pick<RolloutStepped, 'step' | 'written' | 'at'>): RolloutSummary {
  const { state, message, checks, soonestEnd, span, nextWindow, progress } = step;
  const write = step.kind === 'act' || step.kind === 'hold' ? step.write : undefined;
  const reasons = step.kind === 'hold' || step.kind === 'ask' ? step.reasons : [];
  return {
    state,
    message: printable(message, ROLLOUT_LIMITS.message),
    at,
    ...failedChecks(checks),
    reasons: boundedReasons(reasons),
    ...present({
      rollout: rolloutOf(step),
      soonestEnd: textOf(soonestEnd),
      span: spanOf(span),
      nextWindow: textOf(nextWindow),
      progress: progress && progressOf(progress),
      durationMs: durationOf(step),
      write: write && written && { kind: write.kind, outcome: written.kind },
    }),
  };
}

/**
 * Whether a rollout has to be looked at every minute: it goes on, waits for a person, is not at rest since it was aborted, or something was written just now, of which only
 * the next look tells what became.
 */
export function isUnderWay({ state, progress, write }: RolloutSummary): boolean {
  if (state === 'rolling' || state === 'verifying' || state === 'held' || wasSent(write)) return true;
  if (state !== 'aborted') return false;
  return [progress, progress?.etcd].some((part) => part?.machines.some(isMoving) ?? false);
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
  return { id, start, trigger, ...present({ abortedAt: textOf(abortedAt && Date.parse(abortedAt)) }) };
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

/** Those that nobody answers for, bounded. */
export function failedChecks(checks: readonly AnyCheck[]): Pick<RolloutSummary, 'failed' | 'failedCount'> {
  const failing = checks.filter(({ passed, waived }) => !passed && waived !== true);
  return { failed: fitting(failing.map(failedCheck), MOST_FAILED, CHECKS_SIZE), failedCount: failing.length };
}

/** The first ones. */
export function boundedReasons(reasons: readonly HoldReason[]): readonly HoldReason[] {
  return fitting(reasons.map(boundedReason), MOST_REASONS, REASONS_SIZE);
}

/** Of a control plane, or of node groups. */
type AnyCheck = Omit<RolloutCheck, 'id'> & { readonly id: string };

function failedCheck({ id, object, found, remedy, passing }: AnyCheck): FailedCheck {
  return {
    id,
    found: printable(found, ROLLOUT_LIMITS.text),
    ...present({
      object: object && printable(object, ROLLOUT_LIMITS.object),
      remedy: remedy && printable(remedy, ROLLOUT_LIMITS.text),
      passing,
    }),
  };
}

function boundedReason({ id, object, message, remedy }: HoldReason): HoldReason {
  return {
    id,
    ...present({ object: object && printable(object, ROLLOUT_LIMITS.object) }),
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
    machines: fitting(sorted.map(machineOf), MOST_MACHINES, MACHINES_SIZE),
    ...present({ movedAt: textOf(movedAt) }),
  };
}

function isVerified({ state }: MachineProgress): boolean {
  return state === 'verified';
}

function machineOf({ name, node, state, createdAt, served }: MachineProgress): MachineSummary {
  const shown = served.kind === 'certificate' ? served : undefined;
  return {
    name: printable(name, ROLLOUT_LIMITS.name),
    state,
    ...present({
      node: node && printable(node, ROLLOUT_LIMITS.name),
      createdAt: textOf(createdAt),
      notBefore: textOf(shown?.notBefore),
      notAfter: textOf(shown?.notAfter),
    }),
  };
}

/** A count that came from a cluster. */
function whole(count: number): number {
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}

/** RFC 3339; undefined for what is no time of this era. */
export function textOf(ms: number | '' | undefined): string | undefined {
  return typeof ms === 'number' && ms >= 0 && ms <= LAST_INSTANT ? new Date(ms).toISOString() : undefined;
}
