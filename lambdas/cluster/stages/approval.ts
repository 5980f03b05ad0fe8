import type { Acted } from '../../approval/act.ts';
import { ApprovalBugError, approve, type Clock, type Recover } from '../../approval/approve.ts';
import type { Observed } from '../../approval/observe.ts';
import { type ApprovalPolicy, everywhere } from '../../approval/policy.ts';
import type { SweepReport } from '../../approval/report.ts';
import type { ClusterContext } from '../../approval/request.ts';
import { isFor } from '../../approval/selection.ts';
import type { RecoveryEntry } from '../../config/fleet.ts';
import type { SweepOrder } from '../../contracts/order.ts';
import type { WorkloadCluster } from '../../contracts/outcome.ts';
import { type Problem, problemOf } from '../../contracts/problem.ts';
import { recoveryOf } from '../../fleet/recovery.ts';
import { createDecisionCollector } from '../../journal/decisions.ts';
import { policyHash, type SweepJournal } from '../../journal/sweep-journal.ts';
import { KubernetesError } from '../../kubernetes/errors.ts';
import type { ServerClock } from '../../kubernetes/server-clock.ts';
import { listWorkloadClusters } from '../../kubernetes/workload-clusters.ts';
import type { recoverNodes } from '../../recovery/recover-nodes.ts';
import type { SigningRequest } from '../../resources/signing-request.ts';
import { HOUR_MS } from '../../time.ts';
import type { OpenTarget } from '../connect/connect.ts';
import { type Done, OverdueError, type Stage, spentProblem } from '../stage.ts';
import { serverName } from '../sweep-outcome.ts';

/** The result of the approvals of a cluster, if there was a client. */
export interface Approved {
  readonly open: OpenTarget;
  readonly report: SweepReport;
  readonly server: string;
  readonly workloadClusters?: readonly WorkloadCluster[];
  readonly workloadClustersCut?: true;
  readonly endpointAddresses?: readonly string[] | undefined;
  /** It leads to another API server than before, whose data may not be this cluster's. */
  readonly moved: boolean;
  readonly held?: string | undefined;
}

export interface ApprovalOptions {
  readonly policies: readonly ApprovalPolicy[];
  readonly clock: Clock;
  /** Client certificates of kubelets, in the clusters of these entries. @default they wait */
  readonly recovery?: RecoveryOptions;
  /** Records decisions. @default nothing is recorded */
  readonly journal?: SweepJournal;
}

export interface RecoveryOptions {
  /** `recovery` of the deployed fleet.yaml: an order has no say. */
  readonly entries: readonly RecoveryEntry[];
  readonly recoverNodes: typeof recoverNodes;
}

/**
 * Approves, and retries as often as the connection suggests, but never after a write: only its report knows of that.
 * Where writes are held, every policy observes; requests that wait because of that count as late.
 */
export function createApprovalStage({
  policies,
  clock,
  recovery,
  journal,
}: ApprovalOptions): Stage<SweepOrder, Approved> {
  const observing = policies.map((policy) => ({ ...policy, mode: everywhere('observe') }));
  const hashes = { policies: policyHash(policies), observing: policyHash(observing) };

  /** Undefined if no client certificate of the cluster is approved now. */
  function recoverNow(id: string, open: OpenTarget, signal: AbortSignal): Recover | undefined {
    const now = recovery && recoveryOf(recovery.entries, id, clock());
    return now && (async (onActed) => recovery.recoverNodes(open, now, { clock, signal, onActed }));
  }

  return async function approveOrdered({ order, connection, signal }): Promise<Done<Approved>> {
    const { target, holdWrites, deadlineMs, lastHeard, byWebhook, countedTo } = order;
    const counting = byWebhook === true ? undefined : { countedTo };
    for (;;) {
      const opened = await connection.open(signal);
      if ('problem' in opened) {
        const problems = await connection.doubt({ problems: [opened.problem] }, signal);
        if (problems === undefined) continue;
        return { problems: explained(problems, signal, deadlineMs) };
      }
      const open = { ...opened.open, endpointAddresses: order.endpointAddresses };
      let endpointAddresses: Approved['endpointAddresses'];
      const moved = movedTo(open.workload.server, order);
      const held = holdWrites ?? moved;
      const judging = held === undefined ? policies : observing;
      const hash = hashes[held === undefined ? 'policies' : 'observing'];
      const startedAt = clock();
      const decisions =
        journal &&
        createDecisionCollector(
          { cluster: target.id, startedAt, policyHash: hash, program: journal.program },
          refusalLines(open, judging, startedAt, lastHeard),
        );
      const progress = {
        acted: (one: Acted): void => decisions?.take(one),
        observed: (one: Observed) => void ({ endpointAddresses } = one),
      };
      const recover = held === undefined ? recoverNow(target.id, open, signal) : undefined;
      const options = { counting, promised: policies, recover };
      const done = await approve(open, judging, clock, signal, progress, options).then(whole, untilBug);
      const { report } = done;
      const looked = done.bug === undefined ? await lookForClusters(order, report, open, signal) : { problems: [] };
      const { problems: unlisted, bug = done.bug, ...clusters } = looked;
      const seen = { problems: [...report.problems, ...unlisted], report, bug };
      const problems = await connection.doubt(seen, signal);
      if (problems === undefined) continue;
      const { server } = open.workload;
      return {
        result: { ...clusters, endpointAddresses, open, report, held, server, moved: moved !== undefined },
        notices: [...heldProblem(order, held), ...expiredProblem(order, open)],
        problems: explained(problems, signal, deadlineMs),
        decisions: decisions?.collected(),
        bug,
      };
    }
  };
}

interface Told extends Pick<Done<Approved>, 'bug'> {
  readonly report: SweepReport;
}

function whole(report: SweepReport): Told {
  return { report };
}

/** Decisions before a bug are reported, counted and recorded as usual. */
function untilBug(error: unknown): Told {
  if (!(error instanceof ApprovalBugError)) throw error;
  return { report: error.report, bug: { error: error.cause } };
}

/** A call aborted by the end of the stage says nothing about its object. */
function explained(problems: readonly Problem[], signal: AbortSignal, deadlineMs: number): readonly Problem[] {
  return problems.map((problem) => {
    if (problem.kind !== 'aborted') return problem;
    return (
      spentProblem(problem.object, signal) ??
      (signal.reason instanceof OverdueError ? overdue(problem, deadlineMs) : problem)
    );
  });
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

type Looked = Pick<Approved, 'workloadClusters' | 'workloadClustersCut'> & Pick<Done<Approved>, 'problems' | 'bug'>;

async function lookForClusters(
  { lookForClusters: namespaces }: SweepOrder,
  { readable }: SweepReport,
  { workload }: OpenTarget,
  signal: AbortSignal,
): Promise<Looked> {
  // A cluster whose requests could not be listed has its own problem.
  if (namespaces === undefined || !readable) return { problems: [] };
  try {
    const { clusters, cut, problems } = await listWorkloadClusters(workload, namespaces, signal);
    return { problems, workloadClusters: clusters, workloadClustersCut: cut ? true : undefined };
  } catch (error) {
    // What was approved before is on record all the same.
    return error instanceof KubernetesError ? { problems: [problemOf(error)] } : { problems: [], bug: { error } };
  }
}

/** A changed kubeconfig may lead to another cluster, for which the evidence is wrong: report must see it first. */
function movedTo(url: string, { server }: SweepOrder): string | undefined {
  const found = serverName(url);
  return server === undefined || found === server
    ? undefined
    : `its kubeconfig leads to ${found ?? 'another API server'} now, and led to ${server} before`;
}

function heldProblem({ target }: SweepOrder, held: string | undefined): readonly Problem[] {
  if (held === undefined) return [];
  const remedy =
    'Every decision is made, and none is written. This ends automatically after the first sweep of a cluster; if it persists, find out what the cluster is and fix fleet.yaml or its kubeconfig.';
  return [{ kind: 'held', object: `cluster ${target.id}`, message: held, remedy }];
}

/** Reported as long as it lasts: an open recovery is easily forgotten. */
function expiredProblem({ target }: SweepOrder, { workload }: OpenTarget): readonly Problem[] {
  const { recovering } = workload;
  if (recovering === undefined) return [];
  const { notAfter, sha256, pin } = recovering;
  const ended = new Date(notAfter).toISOString();
  return [
    {
      kind: 'recovery-connection',
      ofRecovery: true,
      object: `cluster ${target.id}`,
      message: `the certificate of its API server expired at ${ended}, and certmarshal connects anyway, because fleet.yaml says so (${pin}, SHA-256 ${sha256})`,
      remedy:
        'Renew it as certmarshal runbook recovery says, then remove the cluster from recovery in fleet.yaml, and deploy.',
    },
  ];
}

/** `metadata.creationTimestamp` is cut to seconds, and clocks with NTP differ by less than a second. Milliseconds. */
const CREATED_WITHIN_MS = 2_000;

/** When a CSR was created, and from when a sweep may judge it. Milliseconds. */
interface RefusedCsr {
  /** Since the epoch, by the clock of the API server. */
  readonly createdAt: number;
  /** The least that this clock is ahead of ours. */
  readonly skewMs: number;
  /** The youngest age at which a policy judges it. */
  readonly minAgeMs: number;
}

/**
 * Whether the refusal of a CSR is a line: in the first sweep that may judge it, then once an hour of its age. Pure. A
 * CSR from the seconds around the last sweep may get its first line twice; none loses it, however many ticks are
 * missed.
 *
 * @param now when this sweep began, in milliseconds since the epoch
 * @param lastHeard when the last sweep that read the cluster began; undefined if unknown: then it is the first
 */
export function isRefusalLine({ createdAt, skewMs, minAgeMs }: RefusedCsr, now: number, lastHeard?: number): boolean {
  if (lastHeard === undefined) return true;
  const created = createdAt - skewMs;
  // Ages are measured by the clock of the API server, also where it is wrong.
  const judgedFrom = Math.max(created + CREATED_WITHIN_MS, minAgeMs > 0 ? createdAt + minAgeMs : 0);
  const hoursAt = (time: number): number => Math.floor((time - created) / HOUR_MS);
  return judgedFrom > lastHeard || hoursAt(now) > hoursAt(lastHeard);
}

interface SweptCluster {
  readonly cluster: ClusterContext;
  /** The client: its clock is known when it has read. */
  readonly workload: { readonly clock?: ServerClock | undefined };
}

/** {@link isRefusalLine} for the CSRs of one sweep. */
export function refusalLines(
  { cluster, workload }: SweptCluster,
  policies: readonly ApprovalPolicy[],
  now: number,
  lastHeard: number | undefined,
): (csr: SigningRequest) => boolean {
  const ages = policies
    .filter((policy) => isFor(policy, cluster))
    .map(({ age }) => age[cluster.provider].minSeconds * 1_000);
  const minAgeMs = ages.length === 0 ? 0 : Math.min(...ages);
  return ({ createdAt }) =>
    createdAt === undefined ||
    isRefusalLine({ createdAt, skewMs: workload.clock?.skewMs ?? 0, minAgeMs }, now, lastHeard);
}
