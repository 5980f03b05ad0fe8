import type { SweepReport } from '../approval/report.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { OrderedAudit, SweepOrder } from '../contracts/order.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RolloutSummary } from '../contracts/rollout-summary.ts';
import { recoveryOf } from '../fleet/recovery.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { Journaled, SweepJournal } from '../journal/sweep-journal.ts';
import { createProcessorBudget, type ProcessorBudget } from '../processor-time.ts';
import { type ConnectOptions, createConnect } from './connect/connect.ts';
import { keepDecisions } from './keep-decisions.ts';
import { recoveryNotice } from './recovery-notice.ts';
import { type Minute, runStage, type Stage, type StageEnd, type StageFailure, spentProblem } from './stage.ts';
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
        keepDecisions(journal, decisionsOf(approved), minute),
      ]);
      const mayRoll = approved.failures.length === 0;
      const rolled = await runStage('rollout', order.rollout, mayRoll ? rollout : undefined, minute, known);
      const journaled = [...kept, ...(await keepDecisions(journal, decisionsOf(rolled), minute))];

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

/** Adds later problems. */
function reportOf({ result, problems }: StageEnd<Approved>): SweepReport | undefined {
  return result && { ...result.report, problems, complete: problems.length === 0 };
}

function decisionsOf({ decisions = [] }: Pick<StageEnd<unknown>, 'decisions'>): readonly JournalEntry[] {
  return decisions;
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
