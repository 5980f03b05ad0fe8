import { AwsError } from '../aws/errors.ts';
import type { Problem } from '../problem.ts';
import type { RolloutTrigger } from '../rollout/annotations.ts';
import { NO_HISTORY, type RolloutHistory } from '../rollout/history.ts';
import type { ObservedRollout } from '../rollout/observed.ts';
import { planRollout } from '../rollout/plan-rollout.ts';
import type { RolloutPolicy } from '../rollout/policy.ts';
import type { RolloutState, RolloutStep, RolloutWrite } from '../rollout/step.ts';
import { actRollout, type BeginWrite, isBegin, type RolloutWritten } from './act-rollout.ts';
import { observeRollout, type RolloutTarget } from './observe-rollout.ts';
import { problemOf } from './problem-of.ts';
import {
  acquireLease,
  isHeldBy,
  type LeaseOptions,
  type LeaseOutcome,
  releaseLease,
  renewLease,
} from './rollout-lease.ts';

/** What the fleet remembers of rollouts, so that it never begins too many. Where certmarshal is not deployed there is none. */
export interface RolloutLedger {
  /** @throws AwsError */
  read(signal: AbortSignal): Promise<RolloutHistory>;
  /**
   * Writes down that a rollout begins, before it does. False when somebody else wrote meanwhile: then nothing begins, and the next look plans anew.
   *
   * @throws AwsError
   */
  claim(
    rollout: { readonly id: string; readonly cluster: string; readonly trigger: RolloutTrigger; readonly at: number },
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Writes down that it ended; with `undone` forgets it, because it never began. Safe to repeat. @throws AwsError */
  end(
    rollout: { readonly id: string; readonly cluster: string; readonly at: number; readonly undone?: true },
    signal: AbortSignal,
  ): Promise<void>;
}

export interface StepOptions {
  readonly policy: RolloutPolicy | undefined;
  readonly trigger: RolloutTrigger;
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
 * The ledger is asked only where the plan depends on it. What begins is written down there first: after a crash the budget of the fleet has one rollout too many in it,
 * never one too few, until a later look finds it undone.
 */
export async function stepRollout(target: RolloutTarget, options: StepOptions): Promise<RolloutStepped> {
  const { policy, trigger, ledger, holdWrites, clock, signal } = options;
  const observed = await observeRollout(target, signal);
  const now = clock();
  const at = new Date(now).toISOString();
  const problems: Problem[] = [];
  const remember = { ledger, options, target, problems };
  const planned = (history: RolloutHistory): RolloutStep => planRollout(observed, policy, history, now, trigger);

  let step = planned(NO_HISTORY);
  if (ledger !== undefined && !WITHOUT_HISTORY.has(step.state))
    step = planned(await historyOf(remember, observed, now));

  const written = await writeOf(step, observed, remember);
  if (holdWrites === undefined) await keepOrder(step, observed, remember);
  return { observed, step, ...(written === undefined ? {} : { written }), problems, at };
}

interface Remembering {
  readonly ledger: RolloutLedger | undefined;
  readonly options: StepOptions;
  readonly target: RolloutTarget;
  /** Told here. */
  readonly problems: Problem[];
}

/** Without a mark an entry is of a rollout that began a moment ago, or never. Milliseconds. */
const UNDONE_MS = 15 * 60_000;
/** For this long after its start the end of a rollout is written down again, should that have failed. Milliseconds. */
const ENDED_AGAIN_MS = 14 * 86_400_000;

/** A rollout of ours is under way. */
const GOING: ReadonlySet<RolloutState> = new Set(['rolling', 'verifying', 'held']);
/** States that no history changes: nothing is due, it is over, or it is not ours. */
const WITHOUT_HISTORY: ReadonlySet<RolloutState> = new Set(['off', 'idle', 'foreign', 'expired', 'done', 'aborted']);

/** What the fleet remembers, without what this cluster claimed and never began: that is forgotten. */
async function historyOf(remember: Remembering, observed: ObservedRollout, now: number): Promise<RolloutHistory> {
  const { ledger, options, target, problems } = remember;
  if (ledger === undefined) return NO_HISTORY;
  let history: RolloutHistory;
  try {
    history = await ledger.read(options.signal);
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    const problem = problemOf(error);
    problems.push(problem);
    return { ...NO_HISTORY, unread: `${problem.object}: ${problem.message}` };
  }
  const mark = observed.controlPlane?.mark;
  // What cannot be read may be the mark of any of them.
  if (mark === 'unreadable' || observed.controlPlane === undefined) return history;
  const undone = history.rollouts.filter(
    ({ id, cluster, startedAt, endedAt }) =>
      cluster === target.id && endedAt === undefined && id !== mark?.id && now - startedAt > UNDONE_MS,
  );
  if (undone.length === 0 || options.holdWrites !== undefined) return history;
  for (const { id } of undone)
    await inLedger(remember, async (book) => book.end(ended(target, id, now, true), options.signal));
  return { ...history, rollouts: history.rollouts.filter((past) => !undone.includes(past)) };
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
  const claimed = isBegin(write) && ledger !== undefined;
  if (claimed) {
    const refused = await claim(write, remember);
    if (refused !== undefined) return refused;
  }
  const outcome = await actRollout(write, { ...leaseOptions(remember, write.object), lease: observed.lease });
  if (outcome.problem !== undefined && outcome.kind !== 'overtaken') problems.push(outcome.problem);
  if (claimed && outcome.kind !== 'written' && outcome.kind !== 'unknown')
    await inLedger(remember, async (book) => book.end(ended(target, write.mark.id, clock(), true), signal));
  return outcome;
}

/** Undefined when it may begin. */
async function claim(
  write: BeginWrite,
  { ledger, options, target, problems }: Remembering,
): Promise<RolloutWritten | undefined> {
  const { id } = write.mark;
  const rollout = { id, cluster: target.id, trigger: options.trigger, at: options.clock() };
  try {
    return (await ledger?.claim(rollout, options.signal)) === false ? { kind: 'overtaken' } : undefined;
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    const problem = problemOf(error);
    problems.push(problem);
    return { kind: 'failed', problem };
  }
}

/** The Lease follows a rollout that goes on, and is given back after it; so is its place in the budget. */
async function keepOrder(step: RolloutStep, observed: ObservedRollout, remember: Remembering): Promise<void> {
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
  if (GOING.has(step.state)) {
    if (mark !== undefined)
      told(await (ours === undefined ? acquireLease(lease, mark.id, order) : renewLease(ours, order)));
    return;
  }
  const now = options.clock();
  if (mark !== undefined && (ours !== undefined || now - Date.parse(mark.start) < ENDED_AGAIN_MS))
    await inLedger(remember, async (book) => book.end(ended(target, mark.id, now), options.signal));
  // With that of another rollout another look may be about to begin.
  const over = mark !== undefined && ours?.holder?.endsWith(` ${mark.id}`) === true;
  if (ours !== undefined && (over || now - (ours.renewedAt ?? 0) > UNDONE_MS)) told(await releaseLease(ours, order));
}

function leaseOptions({ target, options }: Remembering, { namespace }: { readonly namespace: string }): LeaseOptions {
  const { clock, signal } = options;
  return { management: target.management, cluster: `${namespace}/${target.name}`, clock, signal };
}

function ended(
  { id: cluster }: RolloutTarget,
  id: string,
  at: number,
  undone = false,
): { readonly id: string; readonly cluster: string; readonly at: number; readonly undone?: true } {
  return { id, cluster, at, ...(undone ? { undone: true } : {}) };
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
