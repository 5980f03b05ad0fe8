import { KubeconfigSecretError } from '../aws/kubeconfig-secret.ts';
import type { SweepOrder } from '../contracts/order.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { CollectedDecisions } from '../journal/decisions.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { type ProcessorBudget, ProcessorTimeError } from '../processor-time.ts';
import type { Connection, OpenTarget } from './connect/connect.ts';

/** One cluster's minute, while it lasts. */
export interface Minute {
  readonly order: SweepOrder;
  readonly connection: Connection;
  /** By `performance.now()`. */
  readonly endsAt: number;
  /** Of the processor, for all stages together. */
  readonly budget: ProcessorBudget;
  /** Ends everything: what was seen or done is still to be written down when a stage was told to end. */
  readonly last: AbortSignal;
}

/** What the approvals found out for the stages after them. */
export interface Known {
  /** The clients that approved; absent where there are none. */
  readonly open?: OpenTarget | undefined;
  /** Why nothing may be written to the cluster. */
  readonly held?: string | undefined;
  /** Why the cluster cannot be looked at. */
  readonly trouble?: Problem | undefined;
}

/** What a stage works with. */
export interface StageContext<Due> extends Known, Pick<Minute, 'order' | 'connection' | 'last'> {
  /** What the order asks for. */
  readonly due: Due;
  /** Absent also where too little time is left to ask the cluster anything. */
  readonly open: OpenTarget | undefined;
  /** Ends the stage. */
  readonly signal: AbortSignal;
}

/** What a stage came to. */
export interface Done<Result> {
  readonly result?: Result;
  /** Told before everything else, also before a bug. */
  readonly notices?: readonly Problem[];
  readonly problems: readonly Problem[];
  /** For the journal. */
  readonly decisions?: CollectedDecisions<JournalEntry> | undefined;
  /** A bug of certmarshal that came when something was done already. */
  readonly bug?: { readonly error: unknown } | undefined;
}

/** One stage of the minute. What is wrong outside of certmarshal is told; only a bug rejects. */
export type Stage<Due, Result> = (context: StageContext<Due>) => Promise<Done<Result>>;

export type StageName = 'approval' | 'recovery' | 'audit' | 'rollout';

/** What certmarshal itself failed with, for the log. No other stage is touched by it. */
export interface StageFailure {
  readonly stage: StageName;
  readonly error: unknown;
}

/** What became of a stage, whatever became of it. */
export interface StageEnd<Result> extends Pick<Done<Result>, 'result' | 'problems' | 'decisions'> {
  readonly failures: readonly StageFailure[];
}

interface StageRow {
  /** With less time left, the stage would only find out that it has none. Milliseconds. */
  readonly shortestMs: number;
  /** Of its time, what it leaves for writing down what it saw. Milliseconds. */
  readonly wrapUpMs: number;
  /** Whether the stage runs: a stage that does not run is not loaded. */
  readonly begins: (context: StageContext<unknown>) => boolean;
  /** Kind of the problem that tells a bug in the stage. */
  readonly kind: string;
  /** What people need to know beside the bug. */
  readonly remedy: string;
}

const always = (): boolean => true;

const STAGES: Readonly<Record<StageName, StageRow>> = {
  approval: { shortestMs: 0, wrapUpMs: 0, begins: always, kind: 'bug', remedy: '' },
  recovery: {
    shortestMs: 3_000,
    wrapUpMs: 0,
    // Also to tell why nothing is approved in a window that is open.
    begins: always,
    kind: 'recovery-bug',
    remedy: ' docs/runbooks/recovery.md has the way by hand.',
  },
  audit: {
    shortestMs: 2_000,
    wrapUpMs: 1_000,
    // A cluster that answers is audited with the next order. Of one that does not, or takes its time each time, what is known from before has to be looked at again now.
    begins: ({ open, trouble, last }) => !last.aborted && (open !== undefined || trouble !== undefined),
    kind: 'bug',
    remedy: ' Approvals continue.',
  },
  rollout: {
    shortestMs: 5_000,
    wrapUpMs: 0,
    begins: ({ open }) => open !== undefined,
    kind: 'bug',
    remedy: ' Approvals continue; whether a rollout continues, Cluster API tells.',
  },
};

/** The reason of a signal that ended a stage because the time of its order was over. */
export class OverdueError extends Error {
  override readonly name = 'OverdueError';
}

/**
 * Runs one stage: with what is left of the time, at the expense of the budget of the minute. What it throws becomes a problem, so that the stages after it have their turn. Never
 * rejects.
 *
 * @param due what the order asks for: without it the stage does not run
 * @param stage absent where this program has none
 */
export async function runStage<Due, Result>(
  name: StageName,
  due: Due | undefined,
  stage: Stage<Due, Result> | undefined,
  { order, connection, endsAt, budget, last }: Minute,
  known: Known = {},
): Promise<StageEnd<Result>> {
  if (due === undefined || stage === undefined) return NOTHING;
  const { id } = order.target;
  const { shortestMs, wrapUpMs, begins } = STAGES[name];
  const leftMs = endsAt - performance.now();
  const isSpent = budget.signal.aborted;
  const hasTime = leftMs >= shortestMs && !last.aborted && !isSpent;
  const end = new AbortController();
  const context: StageContext<Due> = {
    order,
    connection,
    due,
    open: hasTime ? known.open : undefined,
    held: known.held,
    trouble: spentProblem(`cluster ${id}`, budget.signal) ?? known.trouble,
    // A stage that begins when the processor time is spent asks the cluster nothing, and has to finish.
    signal: AbortSignal.any([last, end.signal, ...(isSpent ? [] : [budget.signal])]),
    last,
  };
  if (!begins(context)) return NOTHING;
  const timer = setTimeout(() => end.abort(new OverdueError()), Math.max(leftMs, shortestMs) - wrapUpMs);
  try {
    const { notices = [], problems, bug, ...done } = await budget.run(async () => stage(context));
    const failures = bug === undefined ? [] : [{ stage: name, error: bug.error }];
    return { ...done, problems: [...notices, ...failures.map((one) => failureOf(one, id)), ...problems], failures };
  } catch (error) {
    const failure = { stage: name, error };
    return { problems: [failureOf(failure, id)], failures: [failure] };
  } finally {
    clearTimeout(timer);
  }
}

const NOTHING: StageEnd<never> = { problems: [], failures: [] };

function failureOf({ stage, error }: StageFailure, id: string): Problem {
  if (error instanceof KubeconfigSecretError) {
    const { object, problem, remedy } = error;
    return problemOf({ kind: 'secret', object, problem, remedy });
  }
  const { kind, remedy } = STAGES[stage];
  const [object, what] = stage === 'approval' ? [`cluster ${id}`, 'sweep'] : [`${stage} of cluster ${id}`, stage];
  return {
    kind,
    object,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy: `Report it as a bug, with the line "${what} failed" of the log.${remedy}`,
  };
}

/** Undefined while some processor time is left. */
export function spentProblem(object: string, { reason }: AbortSignal): Problem | undefined {
  if (!(reason instanceof ProcessorTimeError)) return undefined;
  return { kind: 'timeout', object, message: reason.problem, remedy: reason.remedy };
}
