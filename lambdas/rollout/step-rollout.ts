import { AwsError } from '../aws/errors.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { PastRollout, UndoneClaim } from '../contracts/rollout-ledger.ts';
import type { RolloutTrigger } from '../contracts/rollout-mark.ts';
import type { RolloutState } from '../tables/rollout-states.ts';
import { endOfWindow } from '../window/window.ts';
import { actRollout, type BeginWrite, isBegin, type RolloutWritten } from './act.ts';
import { NO_HISTORY, type RolloutHistory, UNDONE_MS } from './history.ts';
import { observeRollout, type RolloutTarget } from './observe.ts';
import type { ObservedRollout } from './observed.ts';
import { planRollout } from './plan.ts';
import type { RolloutPolicy, Waiver } from './policy.ts';
import {
  acquireLease,
  isHeldBy,
  type LeaseOptions,
  type LeaseOutcome,
  releaseLease,
  renewLease,
} from './rollout-lease.ts';
import { endsSettled, isSettled } from './settled.ts';
import type { RolloutStep, RolloutWrite } from './step.ts';
import { LEASE_TURN_MS, TURN_MS } from './turn.ts';

/** What the fleet remembers of rollouts, so that it never begins too many. Where certmarshal is not deployed there is none. */
export interface RolloutLedger {
  /** @throws AwsError */
  read(signal: AbortSignal): Promise<RolloutHistory>;
  /**
   * Writes down that a rollout begins, before it does. False when somebody else wrote meanwhile, or another look at this cluster claimed one within
   * `UNDONE_MS`: then nothing begins, and the next look plans anew.
   *
   * @throws AwsError
   */
  claim(
    rollout: { readonly id: string; readonly cluster: string; readonly trigger: RolloutTrigger; readonly at: number },
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Writes down that it ended. Safe to repeat. @throws AwsError */
  end(
    rollout: {
      readonly id: string;
      readonly cluster: string;
      readonly at: number;
      /** It never began, and stops no one any more: the one with this `at` of its claim, and no other of this id. */
      readonly undone?: { readonly claimedAt: number };
    },
    signal: AbortSignal,
  ): Promise<void>;
}

export interface StepOptions {
  readonly policy: RolloutPolicy | undefined;
  readonly trigger: RolloutTrigger;
  /** What a person answers for by name. @default nothing */
  readonly waivers?: readonly Waiver[];
  readonly ledger?: RolloutLedger;
  /** Plan, and write nothing; why. */
  readonly holdWrites?: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** What one look at the rollout of a cluster came to. */
export interface RolloutStepped {
  readonly observed: ObservedRollout;
  readonly step: RolloutStep;
  /** Absent when there was nothing to write, or writes are held. */
  readonly written?: RolloutWritten;
  /** What is wrong, for people: a refused write, a ledger that cannot be read, a write that was held back. */
  readonly problems: readonly Problem[];
  /** RFC 3339. */
  readonly at: string;
}

/**
 * One look at the rollout of one cluster: observe, plan, write one thing at most, report. Safe to repeat, to interrupt and to run twice at once. Rejects only for a bug.
 *
 * The ledger is asked only where the plan depends on it. What begins is written down there right before: after a crash the budget of the fleet has one rollout too many
 * in it, never one too few, until a later look finds it undone. Nothing that a cluster says of itself is written there: what it claims binds the others.
 */
export async function stepRollout(target: RolloutTarget, options: StepOptions): Promise<RolloutStepped> {
  const { policy, trigger, waivers, ledger, holdWrites, clock, signal } = options;
  const observed = await observeRollout(target, signal);
  const now = clock();
  const at = new Date(now).toISOString();
  const problems: Problem[] = [];
  const remember = { ledger, options, target, problems };
  const planned = (history: RolloutHistory): RolloutStep =>
    planRollout(observed, policy, history, now, trigger, waivers);

  let step = planned(NO_HISTORY);
  let history: RolloutHistory | undefined;
  if (ledger !== undefined && (!WITHOUT_HISTORY.has(step.state) || mayLinger(observed, target, now))) {
    history = await historyOf(remember, observed, now);
    if (!WITHOUT_HISTORY.has(step.state)) step = planned(history);
  }

  const written = await writeOf(step, observed, remember);
  if (holdWrites === undefined) await keepOrder(step, observed, history, remember);
  return { observed, step, written, problems, at };
}

interface Remembering {
  readonly ledger: RolloutLedger | undefined;
  readonly options: StepOptions;
  readonly target: RolloutTarget;
  /** Told here. */
  readonly problems: Problem[];
}

/** For this long after its start the end of a rollout is written down again, should that have failed. Milliseconds. */
const ENDED_AGAIN_MS = 14 * 86_400_000;

/** The longest that a timer takes. Milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A rollout of ours is under way. */
const GOING: ReadonlySet<RolloutState> = new Set(['rolling', 'verifying', 'held']);
/** States that no history changes: nothing is due, it is over, or it is not ours. */
const WITHOUT_HISTORY: ReadonlySet<RolloutState> = new Set(['off', 'idle', 'foreign', 'expired', 'done', 'aborted']);

/** What the fleet remembers, without what this cluster claimed and never began: that is forgotten. What began, and has no mark any more, ends when nothing moves. */
async function historyOf(remember: Remembering, observed: ObservedRollout, now: number): Promise<RolloutHistory> {
  const { ledger, options, target, problems } = remember;
  if (ledger === undefined) return NO_HISTORY;
  let history: RolloutHistory;
  try {
    history = await ledger.read(options.signal);
    problems.push(...(history.problems ?? []));
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    const problem = problemOf(error);
    problems.push(problem);
    return { ...NO_HISTORY, unread: `${problem.object}: ${problem.message}` };
  }
  const { controlPlane } = observed;
  const mark = controlPlane?.mark;
  // What cannot be read may be the mark of any of them.
  if (mark === 'unreadable' || (controlPlane === undefined && !isGone(observed))) return history;
  const open = history.rollouts.filter(
    ({ id, cluster, startedAt, endedAt }) =>
      cluster === target.id && endedAt === undefined && id !== mark?.id && now - startedAt > UNDONE_MS,
  );
  if (open.length === 0 || options.holdWrites !== undefined) return history;
  const kept: PastRollout[] = history.rollouts.filter((past) => !open.includes(past));
  const neverBegan: UndoneClaim[] = [];
  for (const past of open) {
    const { id, startedAt } = past;
    // What went on for so long took a turn, whatever the cluster shows now.
    const began =
      controlPlane === undefined || isStartOf(controlPlane.rolloutAfter, startedAt) || now - startedAt > TURN_MS;
    if (!began) {
      const undone = { claimedAt: startedAt };
      neverBegan.push({ cluster: target.id, ...undone });
      await inLedger(remember, async (book) => book.end({ ...ended(target, id, now), undone }, options.signal));
    } else if (controlPlane === undefined || isSettled(observed)) {
      await inLedger(remember, async (book) => book.end(ended(target, id, now), options.signal));
      kept.push({ ...past, endedAt: now });
    } else kept.push(past);
  }
  return { ...history, rollouts: kept, undone: [...(history.undone ?? []), ...neverBegan] };
}

/** A rollout of ours may have left something in the ledger that nothing on the cluster tells of: somebody removed its mark, or the cluster. */
function mayLinger(observed: ObservedRollout, { name }: RolloutTarget, now: number): boolean {
  const { controlPlane, lease } = observed;
  if (controlPlane === undefined) return isGone(observed);
  if (controlPlane.mark !== undefined) return false;
  const { namespace, rolloutAfter } = controlPlane;
  return isHeldBy(lease, `${namespace}/${name}`) || (rolloutAfter !== undefined && now - rolloutAfter < ENDED_AGAIN_MS);
}

/** Everything was read, and there is no such control plane. */
function isGone({ controlPlane, unread }: ObservedRollout): boolean {
  return controlPlane === undefined && unread.length === 0;
}

/** Of a rollout that was claimed then: `rollout.after` is some seconds before its claim. */
function isStartOf(rolloutAfter: number | undefined, claimedAt: number): boolean {
  return rolloutAfter !== undefined && Math.abs(claimedAt - rolloutAfter) < 60_000;
}

/** Undefined when there is nothing to write, or it may not be. */
async function writeOf(
  step: RolloutStep,
  observed: ObservedRollout,
  remember: Remembering,
): Promise<RolloutWritten | undefined> {
  const { ledger, options, target, problems } = remember;
  const write = step.kind === 'act' || step.kind === 'hold' ? step.write : undefined;
  if (write === undefined) return undefined;
  const { holdWrites, clock, signal } = options;
  if (holdWrites !== undefined) {
    problems.push(heldBack(write, holdWrites));
    return undefined;
  }
  const beginBy = isBegin(write) ? endOfWindows(options) : undefined;
  let claimedAt: number | undefined;
  const claim = async (): Promise<RolloutWritten | undefined> => {
    if (!isBegin(write) || ledger === undefined) return undefined;
    const at = clock();
    const refused = await claimTurn(write, at, remember);
    if (refused === undefined) claimedAt = at;
    return refused;
  };
  const outcome = await actRollout(write, {
    ...leaseOptions(remember, write.object),
    lease: observed.lease,
    settled: endsSettled(write, observed),
    takesOver: options.trigger === 'person' && options.waivers?.includes('one-of-its-management-cluster') === true,
    claim,
    ...(beginBy === undefined ? {} : { beginBy }),
  });
  if (outcome.problem !== undefined && outcome.kind !== 'overtaken') problems.push(outcome.problem);
  if (claimedAt !== undefined && isBegin(write) && outcome.kind !== 'written' && outcome.kind !== 'unknown') {
    const undone = { claimedAt };
    await inLedger(remember, async (book) => book.end({ ...ended(target, write.mark.id, clock()), undone }, signal));
  }
  return outcome;
}

/** When the last maintenance window that is open closes, which a person need not wait for; undefined where none is open. */
function endOfWindows({ policy, trigger, clock }: StepOptions): AbortSignal | undefined {
  if (trigger === 'person' || policy === undefined) return undefined;
  const now = clock();
  const ends = policy.windows.flatMap((window) => endOfWindow(window, now) ?? []);
  return ends.length === 0 ? undefined : AbortSignal.timeout(Math.min(Math.max(...ends) - now, MAX_TIMER_MS));
}

/** Undefined when it may begin. */
async function claimTurn(
  write: BeginWrite,
  at: number,
  { ledger, options, target }: Remembering,
): Promise<RolloutWritten | undefined> {
  const { id } = write.mark;
  const rollout = { id, cluster: target.id, trigger: options.trigger, at };
  try {
    return (await ledger?.claim(rollout, options.signal)) === false ? { kind: 'overtaken' } : undefined;
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return { kind: 'failed', problem: problemOf(error) };
  }
}

/** The Lease follows a rollout that goes on, and is given back after it; so is its place in the budget. */
async function keepOrder(
  step: RolloutStep,
  observed: ObservedRollout,
  history: RolloutHistory | undefined,
  remember: Remembering,
): Promise<void> {
  const { controlPlane, lease } = observed;
  // What begins takes the Lease itself.
  if (controlPlane === undefined || (step.kind === 'act' && isBegin(step.write))) return;
  const { options, target, problems } = remember;
  const order = leaseOptions(remember, controlPlane);
  const ours = isHeldBy(lease, order.cluster) ? lease : undefined;
  const mark = controlPlane.mark === 'unreadable' ? undefined : controlPlane.mark;
  const told = ({ kind, problem }: LeaseOutcome): void => {
    // Whoever overtook it looked a moment ago.
    if (kind !== 'overtaken' && problem !== undefined) problems.push(problem);
  };
  const now = options.clock();
  if (GOING.has(step.state)) {
    if (ours !== undefined) told(await renewLease(ours, order));
    else if (mark !== undefined && isClaimed(mark.id, history, now, remember))
      told(await acquireLease(lease, mark.id, order));
    return;
  }
  // What was aborted half way moves on until Cluster API has as many machines as it is to have: the others wait.
  if (mark?.abortedAt !== undefined && !isSettled(observed)) {
    if (ours !== undefined) told(await renewLease(ours, order));
    return;
  }
  if (mark !== undefined && (ours !== undefined || now - Date.parse(mark.start) < ENDED_AGAIN_MS))
    await inLedger(remember, async (book) => book.end(ended(target, mark.id, now), options.signal));
  // With that of another rollout another look may be about to begin.
  const over = mark !== undefined && ours?.holder?.endsWith(` ${mark.id}`) === true;
  if (ours !== undefined && (over || now - (ours.renewedAt ?? 0) > UNDONE_MS)) told(await releaseLease(ours, order));
}

/** Anyone who may write to the control plane can write a mark: only the ledger says whose turn it is. A person who drives a rollout at a keyboard has none. */
function isClaimed(
  mark: string,
  history: RolloutHistory | undefined,
  now: number,
  { ledger, target }: Remembering,
): boolean {
  if (ledger === undefined) return true;
  return (history?.rollouts ?? []).some(
    ({ id, cluster, startedAt, endedAt }) =>
      id === mark && cluster === target.id && endedAt === undefined && now - startedAt <= LEASE_TURN_MS,
  );
}

function leaseOptions({ target, options }: Remembering, { namespace }: { readonly namespace: string }): LeaseOptions {
  const { clock, signal } = options;
  return { management: target.management, cluster: `${namespace}/${target.name}`, clock, signal };
}

function ended(
  { id: cluster }: RolloutTarget,
  id: string,
  at: number,
): { readonly id: string; readonly cluster: string; readonly at: number } {
  return { id, cluster, at };
}

/** What the ledger does not take now it takes with a later look. */
async function inLedger(
  { ledger, problems }: Remembering,
  write: (ledger: RolloutLedger) => Promise<void>,
): Promise<void> {
  try {
    if (ledger !== undefined) await write(ledger);
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    problems.push(problemOf(error));
  }
}

function heldBack({ kind, object }: RolloutWrite, why: string): Problem {
  return {
    kind: 'held-back',
    object: `${object.namespace}/${object.name}`,
    message: `${kind} was planned and not written: ${why}`,
    remedy: 'Nothing is to be done: the next look that may write plans it anew.',
  };
}
