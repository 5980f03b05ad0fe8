import type { Acted } from '../approval/act.ts';
import { handshakeFrom } from '../approval/node-handshake.ts';
import type { SweepTarget } from '../approval/observe.ts';
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { SweepReport } from '../approval/report.ts';
import { type Clock, SweepBugError, type SweepProgress, sweep } from '../approval/sweep.ts';
import type { EksReader } from '../aws/eks-clusters.ts';
import { KubeconfigSecretError } from '../aws/kubeconfig-secret.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { SweepOrder } from '../contracts/order.ts';
import type { SweepOutcome, WorkloadCluster } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import type { Target } from '../contracts/target.ts';
import { type CollectedDecisions, createDecisionCollector, type DecisionCollector } from '../journal/decisions.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { nodeGroupEntries, rolloutEntries } from '../journal/rollout-entry.ts';
import {
  appendDecisions,
  createPolicyHash,
  type Journaled,
  joinJournaled,
  type SweepJournal,
} from '../journal/sweep-journal.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { listWorkloadClusters } from '../kubernetes/workload-clusters.ts';
import { printable } from '../printable.ts';
import { createProcessorBudget, type ProcessorBudget, ProcessorTimeError } from '../processor-time.ts';
import type { AuditCluster } from './auditor.ts';
import { adviseForEks } from './eks-advice.ts';
import { freshAccess, IMPOSTOR_REMEDY, mayHaveMoved } from './fresh-access.ts';
import { createIdleTargets } from './idle-targets.ts';
import { type OpenTarget, openTarget, type TargetSources, UnusableTargetError } from './open-target.ts';
import type { RecoverCluster } from './recoverer.ts';
import type { RollCluster, RolledCluster } from './roller.ts';
import { outcomeOf, serverName } from './sweep-outcome.ts';

export interface TargetSweeperOptions extends TargetSources {
  readonly describeCluster: EksReader['describeCluster'];
  readonly policies: readonly ApprovalPolicy[];
  readonly clock: Clock;
  /** ARN of the role that signs the tokens, for remedies. */
  readonly principalArn?: string;
  /** Shakes hands with the nodes of the cluster behind this client. @default what is deployed */
  readonly handshakeOf?: typeof handshakeFrom;
  /** Makes the audits that orders ask for. @default none is made */
  readonly audit?: AuditCluster;
  /** Makes the steps of rollouts that orders ask for. @default none is made */
  readonly roll?: RollCluster;
  /** Sweeps the recovery windows of orders. @default none: what waits there waits on */
  readonly recover?: RecoverCluster;
  /** Keeps what was decided. @default nothing is kept */
  readonly journal?: SweepJournal;
  /** Of the processor, for one sweep. @default {@link createProcessorBudget} */
  readonly budgetOf?: () => ProcessorBudget;
}

/** What became of an order. Nothing that is wrong with the cluster is a failure of certmarshal: the next tick sweeps it again. */
export interface SweptOrder {
  readonly outcome: SweepOutcome;
  /** Absent when no client could be made, and when certmarshal failed before it decided anything. */
  readonly report?: SweepReport;
  /** certmarshal itself failed, or AWS did not let it work: the message goes back to the queue. */
  readonly retry?: true;
  /** What was thrown then, for the log. */
  readonly error?: unknown;
  /** A bug of certmarshal in the audit, for the log. The sweep is not touched by it. */
  readonly auditError?: unknown;
  /** A bug of certmarshal in the step of a rollout, for the log. */
  readonly rolloutError?: unknown;
  /** A bug of certmarshal in the sweep of a recovery window, for the log. */
  readonly recoveryError?: unknown;
  /** What became of the record of the decisions, where there were any. */
  readonly journaled?: Journaled;
}

/** Sweeps one target; not twice at once. Never rejects. */
export type SweepOneTarget = (order: SweepOrder, signal: AbortSignal) => Promise<SweptOrder>;

/** One try at a target. */
interface Attempt {
  /** Its connections, which whoever has the attempt closes or keeps; absent when no client could be made. */
  readonly open?: OpenTarget;
  readonly report?: SweepReport;
  /** With a report, those of the report and what came on top. */
  readonly problems: readonly Problem[];
  /** URL of the API server. */
  readonly server?: string;
  readonly workloadClusters?: readonly WorkloadCluster[];
  readonly workloadClustersCut?: true;
  /** It leads to another API server than before: what is seen there is not yet this cluster's. */
  readonly moved?: true;
  /** Why nothing was written. */
  readonly held?: string;
  /** What was decided, for the journal. */
  readonly decisions?: CollectedDecisions;
  /** A bug of certmarshal that came when decisions were made already; the report tells them. */
  readonly bug?: { readonly error: unknown };
}

/** Each keeps a few sockets, and about 100 kB, between two sweeps. */
const KEPT_TARGETS = 64;

/** An audit with less time would only find out that it has none. Milliseconds. */
const SHORTEST_AUDIT_MS = 2_000;
/** A step with less time would be given up between its reads. Milliseconds. */
const SHORTEST_ROLLOUT_MS = 5_000;
/** A sweep of a window with less time would be given up between its reads. Milliseconds. */
const SHORTEST_RECOVERY_MS = 3_000;
/** A sweep whose time is over still has this long to write down what it decided. Milliseconds. */
const SHORTEST_JOURNAL_MS = 3_000;
/** A journal that cannot be written must not keep the other clusters of the batch: the log has its lines, and the next sweep tries again. Milliseconds. */
const MAX_JOURNAL_MS = 10_000;
/** Of the time of an order, what an audit leaves for its snapshot. */
const SNAPSHOT_MS = 1_000;

/** Kinds of problems that other credentials or another CA bundle may end, so that secrets are worth to be read again. */
const SUSPECT: ReadonlySet<string> = new Set(['unauthorized', 'certificate']);

/**
 * A function that sweeps targets and keeps their connections from one sweep to the next. Secrets are read again, and EKS is asked again
 * for endpoint and CA bundle, whenever a sweep gives reason to believe that they changed: after a rotation of credentials or of the
 * cluster's CA the same tick already succeeds. What was found so stays with the connection, until the order itself names another target.
 */
export function createTargetSweeper(options: TargetSweeperOptions): SweepOneTarget {
  const {
    policies,
    clock,
    describeCluster,
    principalArn,
    handshakeOf = handshakeFrom,
    budgetOf = createProcessorBudget,
  } = options;
  const idle = createIdleTargets(KEPT_TARGETS);
  const observing = policies.map((policy) => ({ ...policy, mode: 'observe' as const }));
  const hashOf = createPolicyHash();

  return async (order, signal) => {
    const budget = budgetOf();
    const swept = await budget.run(async () => sweepWithin(order, signal, budget.signal));
    const outcome: SweepOutcome = { ...swept.outcome, heavy: budget.isHeavy() ? true : undefined };
    const spent = spentProblem(`cluster ${order.target.id}`, budget.signal);
    const isTold = spent === undefined || outcome.problems.some(({ message }) => message === spent.message);
    return { ...swept, outcome: isTold ? outcome : withProblem(outcome, spent) };
  };

  /** @param spent ends what looks and judges, and nothing that tells or records it */
  async function sweepWithin(order: SweepOrder, outer: AbortSignal, spent: AbortSignal): Promise<SweptOrder> {
    const signal = AbortSignal.any([outer, spent]);
    const startedAt = clock();
    const endsAt = performance.now() + order.deadlineMs;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), order.deadlineMs);
    const done = ({ problems, ...attempt }: Attempt & { readonly untried?: true }) =>
      outcomeOf(order.target, { ...attempt, problems, startedAt, finishedAt: clock() });
    let swept: SweptOrder;
    let attempt: Attempt | undefined;
    try {
      attempt = await sweepOrder(order, AbortSignal.any([signal, deadline.signal]));
      const problems = attempt.problems.map((problem) => {
        if (problem.kind !== 'aborted') return problem;
        return (
          spentProblem(problem.object, spent) ??
          (deadline.signal.aborted ? overdue(problem, order.deadlineMs) : problem)
        );
      });
      const { report, bug } = attempt;
      swept = {
        outcome: done({ ...attempt, problems, ...(isUntried(attempt) ? { untried: true } : {}) }),
        report: report === undefined ? undefined : { ...report, problems, complete: problems.length === 0 },
        ...(bug === undefined ? {} : { retry: true, error: bug.error }),
      };
    } catch (error) {
      swept = { outcome: done({ problems: [failureOf(error, order.target)], untried: true }), retry: true, error };
    } finally {
      clearTimeout(timer);
    }
    // Approvals come first: what an audit takes of the time, and whatever becomes of it, is nothing to them.
    try {
      const recovered = await withRecovery(order, swept, attempt, { endsAt, signal });
      if (attempt?.moved) return recovered.swept;
      const leftMs = endsAt - performance.now();
      const [audited, journaled] = await Promise.all([
        withAudit(order, recovered.swept, { open: attempt?.open, leftMs, signal: outer, spent }),
        keepDecisions(order.target, joined(attempt?.decisions, recovered.decisions), { leftMs, signal: outer }),
      ]);
      const recorded = journaled === undefined ? audited : withJournal(audited, journaled);
      return attempt === undefined ? recorded : await withRollout(order, recorded, attempt, { endsAt, signal });
    } finally {
      if (attempt !== undefined) release(order, attempt);
    }
  }

  /** After the approvals, before all that only looks: the cluster is down as long as nobody approves. */
  async function withRecovery(
    { recovery: window, target }: SweepOrder,
    swept: SweptOrder,
    attempt: Attempt | undefined,
    { endsAt, signal }: { endsAt: number; signal: AbortSignal },
  ): Promise<{ readonly swept: SweptOrder; readonly decisions?: CollectedDecisions<JournalEntry> }> {
    if (window === undefined || options.recover === undefined) return { swept };
    const { outcome } = swept;
    const leftMs = endsAt - performance.now();
    const unused =
      attempt?.held ??
      (outcome.readable ? undefined : 'the sweep could not read the cluster') ??
      (signal.aborted || leftMs < SHORTEST_RECOVERY_MS ? 'no time was left of the sweep' : undefined);
    // First of all that is wrong, so that no list is too long for it.
    const telling = (told: SweptOrder): SweptOrder => ({
      ...told,
      outcome: withProblem(told.outcome, openWindow(window, unused)),
    });
    if (unused !== undefined || attempt?.open === undefined) return { swept: telling(swept) };
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), leftMs);
    try {
      const due = { target, open: attempt.open, window, signal: AbortSignal.any([signal, end.signal]) };
      const { problems, decisions, bug } = await options.recover(due);
      const recovered = { ...swept, outcome: problems.toReversed().reduce(withProblem, outcome) };
      return {
        swept: telling(bug === undefined ? recovered : withRecoveryError(recovered, bug.error, target)),
        decisions,
      };
    } catch (error) {
      return { swept: telling(withRecoveryError(swept, error, target)) };
    } finally {
      clearTimeout(timer);
    }
  }

  async function withAudit(
    order: SweepOrder,
    swept: SweptOrder,
    {
      open,
      leftMs,
      signal,
      spent,
    }: { open: OpenTarget | undefined; leftMs: number; signal: AbortSignal; spent: AbortSignal },
  ): Promise<SweptOrder> {
    if (order.audit === undefined || options.audit === undefined || signal.aborted) return swept;
    const { target } = order;
    const { outcome } = swept;
    const { known, ...reach } = order.audit;
    const isTimeLeft = leftMs >= SHORTEST_AUDIT_MS;
    const spentBefore = spentProblem(`cluster ${target.id}`, spent);
    // One that answers is audited with the next order. Of one that does not, or takes its time each time, what is known from before has to be looked at again now.
    if (!isTimeLeft && outcome.readable && spentBefore === undefined) return swept;
    const problem = spentBefore ?? outcome.problems[0] ?? unexplained(target);
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), Math.max(leftMs, SHORTEST_AUDIT_MS) - SNAPSHOT_MS);
    try {
      const audit: AuditSummary = await options.audit({
        target,
        reach: { handshakes: order.handshakes ?? false, ...reach },
        known,
        open: isTimeLeft && spentBefore === undefined ? open : undefined,
        problem,
        signal: AbortSignal.any([signal, end.signal, ...(spentBefore === undefined ? [spent] : [])]),
        last: signal,
      });
      return { ...swept, outcome: { ...outcome, audit } };
    } catch (error) {
      return { ...swept, outcome: withProblem(outcome, failedAudit(error, target)), auditError: error };
    } finally {
      clearTimeout(timer);
    }
  }

  /** When approvals, audit and journal have what they need: what is not done now is done in the next minute. */
  async function withRollout(
    order: SweepOrder,
    swept: SweptOrder,
    { open, held, bug }: Attempt,
    { endsAt, signal }: { endsAt: number; signal: AbortSignal },
  ): Promise<SweptOrder> {
    const leftMs = endsAt - performance.now();
    if (order.rollout === undefined || options.roll === undefined || open === undefined || bug !== undefined)
      return swept;
    if (signal.aborted || leftMs < SHORTEST_ROLLOUT_MS) return swept;
    const { outcome } = swept;
    const holdWrites = held ?? (outcome.readable ? undefined : 'the sweep could not read the cluster');
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), leftMs);
    try {
      const { summary, problems, ...steps } = await options.roll({
        target: order.target,
        open,
        handshakes: order.handshakes ?? false,
        holdWrites,
        signal: AbortSignal.any([signal, end.signal]),
      });
      const rolled = { ...swept, outcome: { ...problems.toReversed().reduce(withProblem, outcome), rollout: summary } };
      const written = await keepRollout(order.target, steps, { leftMs: endsAt - performance.now(), signal });
      return written === undefined ? rolled : withJournal(rolled, written);
    } catch (error) {
      return { ...swept, outcome: withProblem(outcome, failedRollout(error, order.target)), rolloutError: error };
    } finally {
      clearTimeout(timer);
    }
  }

  /** What a step wrote, or tried to. Most write nothing. */
  async function keepRollout(
    target: Target,
    { stepped, steppedGroups }: Pick<RolledCluster, 'stepped' | 'steppedGroups'>,
    limits: { leftMs: number; signal: AbortSignal },
  ): Promise<Journaled | undefined> {
    if (options.journal === undefined) return undefined;
    const context = { cluster: target.id, program: options.journal.program };
    const entries = [
      ...(stepped === undefined ? [] : rolloutEntries(stepped, context)),
      ...(steppedGroups === undefined ? [] : nodeGroupEntries(steppedGroups, context)),
    ];
    return entries.length === 0 ? undefined : keepDecisions(target, { entries, leftOut: 0 }, limits);
  }

  /** Beside the audit. It does not end with the sweep at once: what was written to the cluster by then has to be on record. */
  async function keepDecisions(
    { id }: Target,
    decisions: CollectedDecisions<JournalEntry> | undefined,
    { leftMs, signal }: { leftMs: number; signal: AbortSignal },
  ): Promise<Journaled | undefined> {
    if (options.journal === undefined || decisions === undefined) return undefined;
    const end = new AbortController();
    const stop = (): void => end.abort();
    const timeMs = Math.min(Math.max(leftMs, SHORTEST_JOURNAL_MS), MAX_JOURNAL_MS);
    const timers = [setTimeout(stop, timeMs)];
    const hurry = (): void => void timers.push(setTimeout(stop, SHORTEST_JOURNAL_MS));
    if (signal.aborted) hurry();
    else signal.addEventListener('abort', hurry, { once: true });
    try {
      return await appendDecisions(options.journal, id, decisions, end.signal);
    } finally {
      signal.removeEventListener('abort', hurry);
      timers.forEach(clearTimeout);
    }
  }

  async function sweepOrder(order: SweepOrder, signal: AbortSignal): Promise<Attempt> {
    const { target } = order;
    const { access, cluster } = target;
    const mayRepeat = ({ report, bug }: Attempt) =>
      !signal.aborted && bug === undefined && (report?.requests.writes ?? 0) === 0;

    const kept = idle.take(keyOf(order));
    let attempt = kept === undefined ? undefined : await sweepOpen(order, kept, signal);
    if (attempt === undefined || (isSuspect(attempt) && mayRepeat(attempt))) {
      attempt?.open?.close();
      attempt = await openAndSweep(order, target, signal);
    }
    if (access.kind !== 'eks') return attempt;

    if (mayHaveMoved(attempt.problems) && mayRepeat(attempt)) {
      const fresh = await freshAccess(cluster.name, access, describeCluster, signal);
      if (fresh.kind === 'changed') {
        attempt.open?.close();
        attempt = await openAndSweep(order, { ...target, access: fresh.access }, signal);
      } else if (fresh.kind === 'unknown') attempt = { ...attempt, problems: [...attempt.problems, fresh.problem] };
      else attempt = { ...attempt, problems: attempt.problems.map(impostor) };
    }
    return { ...attempt, problems: adviseForEks(attempt.problems, cluster.name, access, principalArn) };
  }

  async function openAndSweep(order: SweepOrder, target: Target, signal: AbortSignal): Promise<Attempt> {
    let open: OpenTarget;
    try {
      open = await openTarget(target, options, signal, order.expiredServer);
    } catch (error) {
      if (error instanceof UnusableTargetError) return { problems: [error.problem] };
      throw error;
    }
    return sweepOpen(order, open, signal);
  }

  /** Connections are kept from order to order; what a lane reaches may change between two. */
  function reachedBy({ handshakes }: SweepOrder, open: OpenTarget): SweepTarget {
    return handshakes ? { ...open, handshake: handshakeOf(open.workload) } : open;
  }

  /** Keeps the connections of a sweep that gives no reason to doubt them, under the target that was ordered. */
  function release(order: SweepOrder, attempt: Attempt): void {
    const { open } = attempt;
    if (open === undefined) return;
    if (isSuspect(attempt) || attempt.bug !== undefined) open.close();
    else idle.keep(keyOf(order), open);
  }

  function collectorOf({ id }: Target, judging: readonly ApprovalPolicy[]): DecisionCollector | undefined {
    const { journal } = options;
    if (journal === undefined) return undefined;
    const { program } = journal;
    return createDecisionCollector({ cluster: id, startedAt: clock(), policyHash: hashOf(judging), program });
  }

  async function sweepOpen(order: SweepOrder, open: OpenTarget, signal: AbortSignal): Promise<Attempt> {
    try {
      const { server } = open.workload;
      const moved = movedTo(server, order);
      const held = order.holdWrites ?? moved;
      const judging = held === undefined ? policies : observing;
      const decisions = collectorOf(order.target, judging);
      const progress = decisions === undefined ? {} : { acted: (acted: Acted) => decisions.take(acted) };
      // Requests that wait because writes are held have not got what their policy promises.
      const { report, bug } = await sweepToTheEnd(reachedBy(order, open), judging, signal, progress);
      const found = bug === undefined ? await lookForClusters(order, report, open, signal) : { problems: [] };
      const problems = [
        ...heldProblem(order, held),
        ...expiredProblem(order, open),
        ...(bug === undefined ? [] : [failureOf(bug.error, order.target)]),
        ...report.problems,
        ...found.problems,
      ];
      return {
        open,
        report,
        server,
        ...found,
        problems,
        ...(moved === undefined ? {} : { moved: true }),
        ...(held === undefined ? {} : { held }),
        ...(decisions === undefined ? {} : { decisions: decisions.collected() }),
        ...(bug === undefined ? {} : { bug }),
      };
    } catch (error) {
      open.close();
      throw error;
    }
  }

  /** What was decided before a bug is reported, counted and kept as ever. */
  async function sweepToTheEnd(
    target: SweepTarget,
    judging: readonly ApprovalPolicy[],
    signal: AbortSignal,
    progress: SweepProgress,
  ): Promise<{ readonly report: SweepReport } & Pick<Attempt, 'bug'>> {
    try {
      return { report: await sweep(target, judging, clock, signal, progress, policies) };
    } catch (error) {
      if (!(error instanceof SweepBugError)) throw error;
      return { report: error.report, bug: { error: error.cause } };
    }
  }
}

function keyOf({ target, expiredServer }: SweepOrder): string {
  return JSON.stringify([target, expiredServer]);
}

/** We had nothing to show to the cluster: our own credentials are missing. */
function isUntried({ report, problems }: Attempt): boolean {
  return report?.readable !== true && problems.some(({ kind }) => kind === 'credentials');
}

function isSuspect({ report, problems }: Attempt): boolean {
  // A source of evidence may be another API server, with credentials of its own.
  return [...problems, ...(report?.evidence ?? [])].some(({ kind }) => kind !== undefined && SUSPECT.has(kind));
}

async function lookForClusters(
  order: SweepOrder,
  { readable }: SweepReport,
  { workload }: OpenTarget,
  signal: AbortSignal,
): Promise<Pick<Attempt, 'problems' | 'workloadClusters' | 'workloadClustersCut'>> {
  // A cluster that does not list its requests has said why.
  if (order.lookForClusters === undefined || !readable) return { problems: [] };
  try {
    const { clusters, cut, problems } = await listWorkloadClusters(workload, order.lookForClusters, signal);
    return { problems, workloadClusters: clusters, workloadClustersCut: cut ? true : undefined };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const { kind, object, problem, remedy } = error;
    return { problems: [{ kind, object, message: problem, remedy }] };
  }
}

/** A kubeconfig that was changed may lead to another cluster, for which the evidence says nothing: the fleet has to see it first. */
function movedTo(url: string, { server }: SweepOrder): string | undefined {
  const found = serverName(url);
  return server === undefined || found === server
    ? undefined
    : `its kubeconfig leads to ${found ?? 'another API server'} now, and led to ${server} before`;
}

function heldProblem({ target }: SweepOrder, held: string | undefined): readonly Problem[] {
  if (held === undefined) return [];
  const remedy =
    'Every decision is made and none is written. After the first sweep of a cluster this ends by itself; if it stays, find out what the cluster is and mend fleet.yaml or its kubeconfig.';
  return [{ kind: 'held', object: `cluster ${target.id}`, message: held, remedy }];
}

/** Loud as long as it lasts: who opened it may have forgotten it. */
function expiredProblem({ target }: SweepOrder, { workload }: OpenTarget): readonly Problem[] {
  const { recovering } = workload;
  if (recovering === undefined) return [];
  const { notAfter, sha256, pin } = recovering;
  const ended = new Date(notAfter).toISOString();
  return [
    {
      kind: 'recovery-connection',
      object: `cluster ${target.id}`,
      message: `the certificate of its API server ended at ${ended}, and certmarshal connects all the same, because fleet.yaml says so (${pin}, SHA-256 ${sha256})`,
      remedy:
        'Renew it as docs/runbooks/recovery.md says, then remove the cluster from recovery in fleet.yaml, and deploy.',
    },
  ];
}

/** Loud as long as it is open: whoever did not expect it shall see it. @param unused why nothing is approved in it */
function openWindow({ id, cluster, until, by, nodes }: RecoveryWindow, unused: string | undefined): Problem {
  const what = `window ${printable(id, 26)} is open until ${until}, by ${printable(by, 200)}`;
  const count = nodes.length === 1 ? 'a node' : `${nodes.length} nodes`;
  return {
    kind: 'recovery-window',
    object: `recovery of cluster ${cluster}`,
    message:
      unused === undefined
        ? `${what}: client certificates of the kubelets of ${count} of its control plane are approved`
        : `${what}, and nothing was approved: ${printable(unused, 250)}`,
    remedy:
      unused === undefined
        ? 'It closes by itself; docs/runbooks/recovery.md has what is to be done meanwhile. If nobody knows who opened it, close it: certmarshal recovery close.'
        : 'Look at the other findings of the cluster: the next sweep tries again while the window is open.',
  };
}

function joined(
  one: CollectedDecisions<JournalEntry> | undefined,
  other: CollectedDecisions<JournalEntry> | undefined,
): CollectedDecisions<JournalEntry> | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { entries: [...one.entries, ...other.entries], leftOut: one.leftOut + other.leftOut };
}

function overdue({ object }: Problem, deadlineMs: number): Problem {
  return {
    kind: 'timeout',
    object,
    message: `not done within the ${deadlineMs / 1000} s that this cluster has`,
    remedy:
      'Check the load of the API server and the route to it; a cluster that does not answer gets less time until it does.',
  };
}

/** Undefined while there is some left. */
function spentProblem(object: string, { reason }: AbortSignal): Problem | undefined {
  if (!(reason instanceof ProcessorTimeError)) return undefined;
  return { kind: 'timeout', object, message: reason.problem, remedy: reason.remedy };
}

function impostor(problem: Problem): Problem {
  return problem.kind === 'certificate' ? { ...problem, remedy: IMPOSTOR_REMEDY } : problem;
}

function withProblem(outcome: SweepOutcome, problem: Problem): SweepOutcome {
  // The first ones are kept, and nobody else tells of this one.
  return { ...outcome, problems: [problem, ...outcome.problems], problemCount: outcome.problemCount + 1 };
}

function withJournal(swept: SweptOrder, added: Journaled): SweptOrder {
  const { problem } = added;
  const { outcome } = swept;
  const journaled = swept.journaled === undefined ? added : joinJournaled(swept.journaled, added);
  return { ...swept, journaled, ...(problem === undefined ? {} : { outcome: withProblem(outcome, problem) }) };
}

function failedAudit(error: unknown, { id }: Target): Problem {
  return {
    kind: 'bug',
    object: `audit of cluster ${id}`,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy: 'Report it as a bug, with the line "audit failed" of the log. Approvals go on.',
  };
}

function withRecoveryError(swept: SweptOrder, error: unknown, target: Target): SweptOrder {
  return { ...swept, outcome: withProblem(swept.outcome, failedRecovery(error, target)), recoveryError: error };
}

function failedRecovery(error: unknown, { id }: Target): Problem {
  return {
    kind: 'recovery-bug',
    object: `recovery of cluster ${id}`,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy:
      'Report it as a bug, with the line "recovery failed" of the log. docs/runbooks/recovery.md has the way by hand.',
  };
}

function failedRollout(error: unknown, { id }: Target): Problem {
  return {
    kind: 'bug',
    object: `rollout of cluster ${id}`,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy:
      'Report it as a bug, with the line "rollout failed" of the log. Approvals go on; whether a rollout goes on, Cluster API tells.',
  };
}

function unexplained({ id }: Target): Problem {
  return {
    kind: 'unreadable',
    object: `cluster ${id}`,
    message: 'the sweep could not read it',
    remedy: 'Look at the findings of its sweep.',
  };
}

function failureOf(error: unknown, { id }: Target): Problem {
  if (error instanceof KubeconfigSecretError) {
    const { object, problem, remedy } = error;
    return { kind: 'secret', object, message: problem, remedy };
  }
  return {
    kind: 'bug',
    object: `cluster ${id}`,
    message: `certmarshal itself failed (${error instanceof Error ? error.name : typeof error})`,
    remedy: 'Report it as a bug, with the line "sweep failed" of the log.',
  };
}
