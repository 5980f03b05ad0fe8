import type { SweepReport } from '../approval/report.ts';
import { KubeconfigSecretError } from '../aws/kubeconfig-secret.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { OrderedAudit, SweepOrder } from '../contracts/order.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { RolloutSummary } from '../contracts/rollout-summary.ts';
import { recoveryOf } from '../fleet/recovery.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { appendDecisions, type Journaled, type SweepJournal } from '../journal/sweep-journal.ts';
import { printable } from '../printable.ts';
import { createProcessorBudget, type ProcessorBudget } from '../processor-time.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { counted } from '../words.ts';
import { type ConnectOptions, createConnect } from './connect/connect.ts';
import {
  type Known,
  type Minute,
  OverdueError,
  type Stage,
  type StageContext,
  type StageEnd,
  type StageFailure,
  type StageName,
  spentProblem,
} from './stage.ts';
import { type ApprovalOptions, type Approved, createApprovalStage } from './stages/approval.ts';
import { outcomeOf } from './sweep-outcome.ts';

export interface MinuteOptions extends ConnectOptions, ApprovalOptions {
  /** @default no audit is made */
  readonly audit?: Stage<OrderedAudit, AuditSummary>;
  /** @default no step of a rollout is made */
  readonly rollout?: Stage<true, RolloutSummary>;
  /** Records decisions. @default nothing is recorded */
  readonly journal?: SweepJournal;
  /** Processor time of one minute. @default {@link createProcessorBudget} */
  readonly budgetOf?: () => ProcessorBudget;
}

/** The result of an order. A problem of the cluster is not a failure of certmarshal: the next tick sweeps it again. */
export interface SweptOrder {
  readonly outcome: SweepOutcome;
  /** Absent when no client could be made, or certmarshal failed before deciding anything. */
  readonly report?: SweepReport;
  /** Bugs of certmarshal, and refusals of AWS. */
  readonly failures: readonly StageFailure[];
  /** The results of recording the decisions. */
  readonly journaled: readonly Journaled[];
}

/** Runs one cluster's minute; never concurrently for one cluster. Never rejects. */
export type SweepCluster = (order: SweepOrder, signal: AbortSignal) => Promise<SweptOrder>;

/**
 * One cluster's minute: connect, approve, audit, roll, and report the outcome. Approvals come first and do not
 * depend on the time or failures of the rest. Unfinished work waits for the next minute.
 */
export function createMinute(options: MinuteOptions): SweepCluster {
  const { clock, recovery, budgetOf = createProcessorBudget } = options;
  const connect = createConnect(options);
  const approval = createApprovalStage(options);

  return async function sweepCluster(order, signal) {
    const startedAt = clock();
    const connection = connect(order);
    const endsAt = performance.now() + order.deadlineMs;
    const minute: Minute = { order, connection, endsAt, budget: budgetOf(), last: signal };
    try {
      const approved = await runStage('approval', order, approval, minute);
      const found = approved.result;
      const outcome = outcomeOf(order.target, approved, { startedAt, finishedAt: clock() });
      const unread = outcome.readable ? undefined : 'the sweep could not read the cluster';
      const known = { open: found?.open, held: found?.held ?? unread };
      const recovering = recoveryOf(recovery?.entries ?? [], outcome.id, startedAt);
      const before = told(
        { outcome, report: reportOf(approved), failures: approved.failures, journaled: [] },
        { problems: recovering === undefined ? [] : [recoveryNotice(recovering, outcome.id, known.held)] },
      );

      // Data from a moved server may not be this cluster's.
      const { audit, rollout, journal }: Partial<MinuteOptions> = found?.moved === true ? {} : options;
      const trouble = outcome.readable ? undefined : outcome.problems[0];
      const [audited, kept] = await Promise.all([
        runStage('audit', order.audit, audit, minute, { ...known, trouble }),
        keepDecisions(journal, approved.decisions, minute),
      ]);
      const mayRoll = approved.failures.length === 0;
      const rolled = await runStage('rollout', order.rollout, mayRoll ? rollout : undefined, minute, known);
      const journaled = [...kept, ...(await keepDecisions(journal, rolled.decisions, minute))];

      const problems = journaled.flatMap(({ problem }) => problem ?? []);
      const after = [audited, rolled, { problems }].reduce<SweptOrder>(told, before);
      const heavy = minute.budget.isHeavy() ? (true as const) : undefined;
      const whole = {
        ...after,
        journaled,
        outcome: { ...after.outcome, heavy, audit: audited.result, rollout: rolled.result },
      };
      return told(whole, { problems: untoldSpent(whole, minute) });
    } finally {
      connection.release();
    }
  };
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

const STAGES: Readonly<Record<StageName, StageRow>> = {
  approval: { shortestMs: 0, wrapUpMs: 0, begins: () => true, remedy: '' },
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
  const object = stage === 'approval' ? `cluster ${id}` : `${stage} of cluster ${id}`;
  return {
    kind: 'bug',
    object,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy: `Report it as a bug, with the line "${stage} failed" of the log.${remedy}`,
  };
}

/** Adds later problems. */
function reportOf({ result, problems }: StageEnd<Approved>): SweepReport | undefined {
  return result && { ...result.report, problems, complete: problems.length === 0 };
}

/** The list keeps the first problems, so the newest must be added here. */
function told(
  { outcome, ...swept }: SweptOrder,
  { problems, failures = [] }: Pick<StageEnd<unknown>, 'problems'> & Partial<Pick<SweptOrder, 'failures'>>,
): SweptOrder {
  return {
    ...swept,
    outcome: {
      ...outcome,
      problems: [...problems, ...outcome.problems],
      problemCount: outcome.problemCount + problems.length,
    },
    failures: [...swept.failures, ...failures],
  };
}

/** Says that the processor time is used up, if no stage said so. */
function untoldSpent({ outcome }: SweptOrder, { budget }: Minute): readonly Problem[] {
  const spent = spentProblem(`cluster ${outcome.id}`, budget.signal);
  return spent === undefined || outcome.problems.some(({ message }) => message === spent.message) ? [] : [spent];
}

/** Time to record decisions after the minute is over. Milliseconds. */
const SHORTEST_MS = 3_000;
/** A failing journal must not delay other clusters of the batch: the log has its lines. Milliseconds. */
const LONGEST_MS = 10_000;

/**
 * Writes decisions into the journal. It may outlast the minute: writes to the cluster must be on record. Never rejects.
 *
 * @returns empty without decisions
 */
async function keepDecisions(
  journal: SweepJournal | undefined,
  entries: readonly JournalEntry[] = [],
  { order, endsAt, last }: Minute,
): Promise<readonly Journaled[]> {
  if (journal === undefined || entries.length === 0) return [];
  const end = new AbortController();
  const stop = (): void => end.abort();
  const timers = [setTimeout(stop, Math.min(Math.max(endsAt - performance.now(), SHORTEST_MS), LONGEST_MS))];
  const hurry = (): void => void timers.push(setTimeout(stop, SHORTEST_MS));
  if (last.aborted) hurry();
  else last.addEventListener('abort', hurry, { once: true });
  try {
    return [await appendDecisions(journal, order.target.id, entries, end.signal)];
  } finally {
    last.removeEventListener('abort', hurry);
    timers.forEach(clearTimeout);
  }
}

/**
 * Reported as long as it is in force, also if the cluster cannot be reached: a forgotten one must be noticed.
 *
 * @param id of the cluster
 * @param unused why nothing is approved
 */
function recoveryNotice({ nodes, until, by }: Recovery, id: string, unused: string | undefined): Problem {
  const what = `until ${until} client certificates of ${counted(nodes.length, 'node')} of its control plane are approved, because ${printable(by, 100)} says so`;
  return {
    kind: 'recovery-nodes',
    ofRecovery: true,
    object: `recovery of cluster ${id}`,
    message: unused === undefined ? what : `${what}; nothing was approved now: ${printable(unused, 250)}`,
    remedy:
      unused === undefined
        ? 'It ends automatically; certmarshal runbook recovery says what to do meanwhile. If no one knows why, remove nodes from recovery in fleet.yaml, and deploy.'
        : 'Read the other findings of the cluster; the next sweep tries again.',
  };
}
