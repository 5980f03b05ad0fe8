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

/** The rollouts of the fleet, which limit new ones. Missing if certmarshal is not deployed. */
export interface RolloutLedger {
  /** @throws AwsError */
  read(signal: AbortSignal): Promise<RolloutHistory>;
  /**
   * Records a rollout before it begins. False if another writer was first, or another step of this cluster claimed one
   * within `UNDONE_MS`: then nothing begins, and the next step plans again.
   *
   * @throws AwsError
   */
  take(
    rollout: { readonly id: string; readonly cluster: string; readonly trigger: RolloutTrigger; readonly at: number },
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Records its end. Idempotent. @throws AwsError */
  end(
    rollout: {
      readonly id: string;
      readonly cluster: string;
      readonly at: number;
      /** It never began, and no longer blocks others: the one with this `at` of its claim, and no other of this id. */
      readonly undone?: { readonly claimedAt: number };
    },
    signal: AbortSignal,
  ): Promise<void>;
}

export interface StepOptions {
  readonly policy: RolloutPolicy | undefined;
  readonly trigger: RolloutTrigger;
  /** Checks waived by name. @default none */
  readonly waivers?: readonly Waiver[];
  readonly ledger?: RolloutLedger;
  /** Why to plan without writing. */
  readonly holdWrites?: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** The result of one step of a cluster's rollout. */
export interface RolloutStepped {
  readonly observed: ObservedRollout;
  readonly step: RolloutStep;
  /** Absent if there was nothing to write, or writes are held. */
  readonly written?: RolloutWritten;
  /** Problems, for people: a rejected write, an unreadable ledger, a held write. */
  readonly problems: readonly Problem[];
  /** RFC 3339. */
  readonly at: string;
}

/**
 * One step of one cluster's rollout: observe, plan, write at most one thing, report. Safe to repeat, to interrupt and
 * to run concurrently. Rejects only for a bug.
 *
 * Reads the ledger only if the plan depends on it. Records a rollout there right before it begins: after a crash the
 * budget contains one rollout too many, never one too few, until a later step removes it. Nothing that a cluster says
 * about itself is recorded, because its claims bind others.
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
    history = await historyOf(remember, ledger, observed, now);
    step = planned(history);
  }

  const written = await writeOf(step, observed, remember);
  if (holdWrites === undefined) await keepOrder(step, observed, history, remember);
  return { observed, step, written, problems, at };
}

interface Remembering {
  readonly ledger: RolloutLedger | undefined;
  readonly options: StepOptions;
  readonly target: RolloutTarget;
  readonly problems: Problem[];
}

/** For this long after its start the end of a rollout is recorded again, in case that failed. Milliseconds. */
const ENDED_AGAIN_MS = 14 * 86_400_000;

/** The longest timer. Milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/** A rollout of ours is in progress. */
const GOING: ReadonlySet<RolloutState> = new Set(['rolling', 'verifying', 'held']);
/** States that do not depend on history: nothing is due, it is over, or it is not ours. */
const WITHOUT_HISTORY: ReadonlySet<RolloutState> = new Set(['off', 'idle', 'foreign', 'expired', 'done', 'aborted']);

/** The history, without this cluster's claims that never began. A rollout without a mark ends when nothing moves. */
async function historyOf(
  remember: Remembering,
  ledger: RolloutLedger,
  observed: ObservedRollout,
  now: number,
): Promise<RolloutHistory> {
  const { options, target, problems } = remember;
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
  // An unreadable mark may be that of any of them.
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
    // It was in progress for so long that it took a turn, whatever the cluster shows now.
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

/** The ledger may have a rollout of ours without a trace on the cluster: its mark, or the cluster, was removed. */
function mayLinger(observed: ObservedRollout, { name }: RolloutTarget, now: number): boolean {
  const { controlPlane, lease } = observed;
  if (controlPlane === undefined) return isGone(observed);
  if (controlPlane.mark !== undefined) return false;
  const { namespace, rolloutAfter } = controlPlane;
  return isHeldBy(lease, `${namespace}/${name}`) || (rolloutAfter !== undefined && now - rolloutAfter < ENDED_AGAIN_MS);
}

/** Everything was read, and the control plane does not exist. */
function isGone({ controlPlane, unread }: ObservedRollout): boolean {
  return controlPlane === undefined && unread.length === 0;
}

/** For a rollout claimed at that time: `rollout.after` is some seconds before its claim. */
function isStartOf(rolloutAfter: number | undefined, claimedAt: number): boolean {
  return rolloutAfter !== undefined && Math.abs(claimedAt - rolloutAfter) < 60_000;
}

/** Undefined if there is nothing to write, or it may not be written. */
async function writeOf(
  step: RolloutStep,
  observed: ObservedRollout,
  remember: Remembering,
): Promise<RolloutWritten | undefined> {
  const { options, target, problems } = remember;
  const write = 'write' in step ? step.write : undefined;
  if (write === undefined) return undefined;
  const { holdWrites, clock, signal } = options;
  if (holdWrites !== undefined) {
    problems.push(heldBack(write, holdWrites));
    return undefined;
  }
  let claimedAt: number | undefined;
  const claim = async (): Promise<RolloutWritten | undefined> => {
    if (!isBegin(write)) return undefined;
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
    beginBy: endOfWindows(options),
  });
  if (outcome.problem !== undefined && outcome.kind !== 'overtaken') problems.push(outcome.problem);
  if (claimedAt !== undefined && isBegin(write) && outcome.kind !== 'written' && outcome.kind !== 'unknown') {
    const undone = { claimedAt };
    await inLedger(remember, async (book) => book.end({ ...ended(target, write.mark.id, clock()), undone }, signal));
  }
  return outcome;
}

/** When the last open maintenance window closes, for which a person need not wait; undefined if none is open. */
function endOfWindows({ policy, trigger, clock }: StepOptions): AbortSignal | undefined {
  if (trigger === 'person' || policy === undefined) return undefined;
  const now = clock();
  const ends = policy.windows.flatMap((window) => endOfWindow(window, now) ?? []);
  return ends.length === 0 ? undefined : AbortSignal.timeout(Math.min(Math.max(...ends) - now, MAX_TIMER_MS));
}

/** Undefined if it may begin. */
async function claimTurn(
  write: BeginWrite,
  at: number,
  { ledger, options, target }: Remembering,
): Promise<RolloutWritten | undefined> {
  const { id } = write.mark;
  const rollout = { id, cluster: target.id, trigger: options.trigger, at };
  try {
    return (await ledger?.take(rollout, options.signal)) === false ? { kind: 'overtaken' } : undefined;
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return { kind: 'failed', problem: problemOf(error) };
  }
}

/** Renews the Lease during a rollout, and returns it with its place in the budget afterwards. */
async function keepOrder(
  step: RolloutStep,
  observed: ObservedRollout,
  history: RolloutHistory | undefined,
  remember: Remembering,
): Promise<void> {
  const { controlPlane, lease } = observed;
  // A beginning rollout takes the Lease itself.
  if (controlPlane === undefined || (step.kind === 'act' && isBegin(step.write))) return;
  const { options, target, problems } = remember;
  const order = leaseOptions(remember, controlPlane);
  const ours = isHeldBy(lease, order.cluster) ? lease : undefined;
  const mark = controlPlane.mark === 'unreadable' ? undefined : controlPlane.mark;
  const told = ({ kind, problem }: LeaseOutcome): void => {
    // The other writer has just taken a step.
    if (kind !== 'overtaken' && problem !== undefined) problems.push(problem);
  };
  const now = options.clock();
  if (GOING.has(step.state)) {
    if (ours !== undefined) told(await renewLease(ours, order));
    else if (mark !== undefined && isClaimed(mark.id, history, now, remember))
      told(await acquireLease(lease, mark.id, order));
    return;
  }
  // An aborted rollout moves until Cluster API has the desired machines: the others wait.
  if (mark?.abortedAt !== undefined && !isSettled(observed)) {
    if (ours !== undefined) told(await renewLease(ours, order));
    return;
  }
  if (mark !== undefined && (ours !== undefined || now - Date.parse(mark.start) < ENDED_AGAIN_MS))
    await inLedger(remember, async (book) => book.end(ended(target, mark.id, now), options.signal));
  // Another step may be about to begin with the Lease of another rollout.
  const over = mark !== undefined && ours?.holder?.endsWith(` ${mark.id}`) === true;
  if (ours !== undefined && (over || now - (ours.renewedAt ?? 0) > UNDONE_MS)) told(await releaseLease(ours, order));
}

/**
 * Anyone who may write to the control plane can write a mark: only the ledger says whose turn it is. A person who
 * continues one at the keyboard has no ledger.
 */
function isClaimed(
  mark: string,
  history: RolloutHistory | undefined,
  now: number,
  { ledger, target }: Remembering,
): boolean {
  if (ledger === undefined) return true;
  const isIt = ({ id, cluster, startedAt, endedAt }: PastRollout): boolean =>
    id === mark && cluster === target.id && endedAt === undefined && now - startedAt <= LEASE_TURN_MS;
  return history?.rollouts.some(isIt) === true;
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

/** A failed write to the ledger is retried by a later step. */
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
    remedy: 'Nothing to do: the next look that may write plans it again.',
  };
}
