import { KubeconfigSecretError } from '../aws/kubeconfig-secret.ts';
import type { SweepOrder } from '../contracts/order.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { type ProcessorBudget, ProcessorTimeError } from '../processor-time.ts';
import type { Connection, OpenTarget } from './connect/connect.ts';

/** The current minute of a cluster. */
export interface Minute {
  readonly order: SweepOrder;
  readonly connection: Connection;
  /** By `performance.now()`. */
  readonly endsAt: number;
  readonly budget: ProcessorBudget;
  /** Ends everything; later than the signal of a stage, so that results can be recorded. */
  readonly last: AbortSignal;
}

/** Results of the approvals for later stages. */
export interface Known {
  /** The clients of the approvals; absent if there are none. */
  readonly open?: OpenTarget | undefined;
  /** Why nothing may be written to the cluster. */
  readonly held?: string | undefined;
  /** Why the cluster cannot be read. */
  readonly trouble?: Problem | undefined;
}

export interface StageContext<Due> extends Known, Pick<Minute, 'order' | 'connection' | 'last'> {
  readonly due: Due;
  /** Absent also if too little time is left to call the cluster. */
  readonly open: OpenTarget | undefined;
  /** Ends the stage. */
  readonly signal: AbortSignal;
}

export interface Done<Result> {
  readonly result?: Result;
  /** Reported first, even before a bug. */
  readonly notices?: readonly Problem[];
  readonly problems: readonly Problem[];
  readonly decisions?: readonly JournalEntry[] | undefined;
  /** A bug of certmarshal after something was done. */
  readonly bug?: { readonly error: unknown } | undefined;
}

/** One stage of the minute. Problems outside of certmarshal are results; only a bug rejects. */
export type Stage<Due, Result> = (context: StageContext<Due>) => Promise<Done<Result>>;

export type StageName = 'approval' | 'audit' | 'rollout';

/** Bugs of certmarshal, for the log. Other stages are not affected. */
export interface StageFailure {
  readonly stage: StageName;
  readonly error: unknown;
}

/** The result of a stage, even after a failure. */
export interface StageEnd<Result> extends Pick<Done<Result>, 'result' | 'problems' | 'decisions'> {
  readonly failures: readonly StageFailure[];
}

interface StageRow {
  /** The stage needs at least this time to be useful. Milliseconds. */
  readonly shortestMs: number;
  /** Part of its time reserved for recording results. Milliseconds. */
  readonly wrapUpMs: number;
  /** Whether the stage runs: otherwise its code is not loaded. */
  readonly begins: (context: StageContext<unknown>) => boolean;
  /** What people must know besides the bug. */
  readonly remedy: string;
}

const always = (): boolean => true;

const STAGES: Readonly<Record<StageName, StageRow>> = {
  approval: { shortestMs: 0, wrapUpMs: 0, begins: always, remedy: '' },
  audit: {
    shortestMs: 2_000,
    wrapUpMs: 1_000,
    // A cluster that answers is audited with the next order. For one that does not, or is slow each time, earlier
    // knowledge must be evaluated now.
    begins: ({ open, trouble, last }) => !last.aborted && (open !== undefined || trouble !== undefined),
    remedy: ' Approvals continue.',
  },
  rollout: {
    shortestMs: 5_000,
    wrapUpMs: 0,
    begins: ({ open }) => open !== undefined,
    remedy: ' Approvals continue; Cluster API shows whether a rollout continues.',
  },
};

/** The abort reason of a stage when the time of its order is over. */
export class OverdueError extends Error {
  override readonly name = 'OverdueError';
}

/**
 * Runs one stage with the remaining time, charged to the budget of the minute. Errors become problems, so that later
 * stages run. Never rejects.
 *
 * @param due the part of the order: without it the stage does not run
 * @param stage absent if this program has none
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
    // Without processor time left the stage makes no call and only finishes.
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
  const { remedy } = STAGES[stage];
  const [object, what] = stage === 'approval' ? [`cluster ${id}`, 'sweep'] : [`${stage} of cluster ${id}`, stage];
  return {
    kind: 'bug',
    object,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy: `Report it as a bug, with the line "${what} failed" of the log.${remedy}`,
  };
}

/** Undefined while processor time is left. */
export function spentProblem(object: string, { reason }: AbortSignal): Problem | undefined {
  if (!(reason instanceof ProcessorTimeError)) return undefined;
  return { kind: 'timeout', object, message: reason.message, remedy: reason.remedy };
}
