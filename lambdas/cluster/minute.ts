import type { SweepReport } from '../approval/report.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { OrderedAudit, SweepOrder } from '../contracts/order.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RolloutSummary } from '../contracts/rollout-summary.ts';
import { type Journaled, joinJournaled, type SweepJournal } from '../journal/sweep-journal.ts';
import { createProcessorBudget, type ProcessorBudget } from '../processor-time.ts';
import { type ConnectOptions, createConnect } from './connect/connect.ts';
import { type Kept, keepDecisions } from './keep-decisions.ts';
import type { RecoverCluster } from './recoverer.ts';
import { type Minute, runStage, type Stage, type StageEnd, type StageFailure, spentProblem } from './stage.ts';
import { type ApprovalOptions, type Approved, createApprovalStage } from './stages/approval.ts';
import { createRecoveryStage } from './stages/recovery.ts';
import { outcomeOf } from './sweep-outcome.ts';

export interface MinuteOptions extends ConnectOptions, ApprovalOptions {
  /** Sweeps the recovery windows of orders. @default none: what waits there waits on */
  readonly recover?: RecoverCluster;
  /** @default no audit is made */
  readonly audit?: Stage<OrderedAudit, AuditSummary>;
  /** @default no step of a rollout is made */
  readonly rollout?: Stage<true, RolloutSummary>;
  /** Keeps what was decided. @default nothing is kept */
  readonly journal?: SweepJournal;
  /** Of the processor, for one minute. @default {@link createProcessorBudget} */
  readonly budgetOf?: () => ProcessorBudget;
}

/** What became of an order. Nothing that is wrong with the cluster is a failure of certmarshal: the next tick sweeps it again. */
export interface SweptOrder {
  readonly outcome: SweepOutcome;
  /** Absent when no client could be made, and when certmarshal failed before it decided anything. */
  readonly report?: SweepReport;
  /** Bugs of certmarshal, and where AWS did not let it work. */
  readonly failures: readonly StageFailure[];
  /** What became of the record of the decisions, where there were any. */
  readonly journaled?: Journaled;
}

/** One cluster's minute; not twice at once. Never rejects. */
export type SweepCluster = (order: SweepOrder, signal: AbortSignal) => Promise<SweptOrder>;

/**
 * One cluster's minute: connect, approve, recover, audit, roll, and tell the outcome. Approvals come first: what the others take of the time, and whatever becomes of them, is
 * nothing to those. What is not done now is done in the next minute.
 */
export function createMinute(options: MinuteOptions): SweepCluster {
  const { clock, budgetOf = createProcessorBudget } = options;
  const connect = createConnect(options);
  const approval = createApprovalStage(options);
  const recovery = options.recover && createRecoveryStage(options.recover);

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

      // While a window is open, its cluster is down as long as nobody approves.
      const recovered = await runStage('recovery', order.recovery, recovery, minute, known);
      const before = told({ outcome, report: reportOf(approved), failures: approved.failures }, recovered);

      // What is seen behind a moved server is not yet this cluster's.
      const { audit, rollout, journal }: Partial<MinuteOptions> = found?.moved === true ? {} : options;
      const trouble = outcome.readable ? undefined : before.outcome.problems[0];
      const [audited, kept] = await Promise.all([
        runStage('audit', order.audit, audit, minute, { ...known, trouble }),
        keepDecisions(journal, [approved.decisions, recovered.decisions], minute),
      ]);
      const mayRoll = approved.failures.length === 0;
      const rolled = await runStage('rollout', order.rollout, mayRoll ? rollout : undefined, minute, known);
      const keptToo = await keepDecisions(journal, [rolled.decisions], minute);

      const after = [audited, kept, rolled, keptToo].reduce<SweptOrder>(told, before);
      const heavy = minute.budget.isHeavy() ? (true as const) : undefined;
      const whole = { ...after, outcome: { ...after.outcome, heavy, audit: audited.result, rollout: rolled.result } };
      return told(whole, { problems: untoldSpent(whole, minute) });
    } finally {
      connection.release();
    }
  };
}

/** With what came on top of its problems. */
function reportOf({ result, problems }: StageEnd<Approved>): SweepReport | undefined {
  return result && { ...result.report, problems, complete: problems.length === 0 };
}

/** The first problems are kept, and nobody else tells of the newest ones. */
function told(
  { outcome, journaled, ...swept }: SweptOrder,
  { problems, failures = [], journaled: added }: Kept & Partial<Pick<SweptOrder, 'failures'>>,
): SweptOrder {
  return {
    ...swept,
    outcome: {
      ...outcome,
      problems: [...problems, ...outcome.problems],
      problemCount: outcome.problemCount + problems.length,
    },
    failures: [...swept.failures, ...failures],
    journaled: journaled && added ? joinJournaled(journaled, added) : (journaled ?? added),
  };
}

/** That the processor time is spent, where no stage has told it. */
function untoldSpent({ outcome }: SweptOrder, { budget }: Minute): readonly Problem[] {
  const spent = spentProblem(`cluster ${outcome.id}`, budget.signal);
  return spent === undefined || outcome.problems.some(({ message }) => message === spent.message) ? [] : [spent];
}
