import type { CsrCounts } from '../contracts/outcome.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { type Acted, act } from './act.ts';
import { decide } from './decide.ts';
import { collectDue, countDue } from './due-csrs.ts';
import { type Observed, observe, type SweepTarget } from './observe.ts';
import type { ApprovalPolicy } from './policy.ts';
import { type Recovered, report, type SweepReport } from './report.ts';

/** Milliseconds since the epoch. */
export type Clock = () => number;

/** Callbacks that show progress; nothing depends on them. */
export interface ApprovalProgress {
  readonly observed?: (observed: Observed) => void;
  readonly acted?: (acted: Acted) => void;
}

export interface ApprovalOptions {
  /** Counts the CSRs that are due since the counts of an earlier sweep. @default none is counted */
  readonly counting?: { readonly countedTo?: number | undefined } | undefined;
  /**
   * Policies that decide which requests count as late, if `policies` only observe because writes are on hold.
   * @default `policies`
   */
  readonly promised?: readonly ApprovalPolicy[] | undefined;
  /** Writes nothing: what a policy in mode `enforce` would have written is `observed`. @default false */
  readonly dryRun?: boolean;
  /**
   * Judges requests for client certificates of kubelets too, if those for serving certificates can be listed.
   * @default they wait
   */
  readonly recover?: Recover | undefined;
}

/** Calls `onActed` with every decision as soon as its result is known. */
export type Recover = (onActed: (acted: Acted) => void) => Promise<Recovered>;

/** A bug after the first decision, or of a recovery. What was written stays written, and `report` lists it. */
export class ApprovalBugError extends Error {
  override readonly name = 'ApprovalBugError';
  readonly report: SweepReport;

  /** @param bug what was thrown */
  constructor(bug: unknown, found: SweepReport) {
    super(`certmarshal itself failed (${bug instanceof Error ? bug.name : typeof bug})`, { cause: bug });
    this.report = found;
  }
}

/**
 * Observes, decides, acts and reports for one cluster. Safe to repeat, to interrupt and to run concurrently: every
 * write is bound to the judged object. Problems of the cluster are part of the report; only a bug throws.
 *
 * @throws ApprovalBugError for a bug after the first decision, or of a recovery
 */
export async function approve(
  target: SweepTarget,
  policies: readonly ApprovalPolicy[],
  clock: Clock,
  signal: AbortSignal,
  progress: ApprovalProgress = {},
  { counting, promised = policies, dryRun = false, recover }: ApprovalOptions = {},
): Promise<SweepReport> {
  const startedAt = clock();
  const before = requestsOf(target);
  const clockBefore = target.workload.clock;
  let observed: Observed | undefined;
  let acted: readonly Acted[] = [];
  let counted: CsrCounts | undefined;
  const due = counting && collectDue(counting.countedTo, startedAt);
  let failure: KubernetesError | undefined;
  const bugs: unknown[] = [];
  try {
    observed = await observe(target, policies, signal, clock, { listed: due && ((csr) => due.add(csr)) });
    progress.observed?.(observed);
    acted = await act(decide(observed.cluster, observed, policies, clock(), observed.approvals), {
      client: target.workload,
      evidence: observed.evidence,
      policies,
      now: clock,
      signal,
      onBug: (bug) => void bugs.push(bug),
      onActed: progress.acted,
      instead: dryRun ? async () => ({ kind: 'observed' }) : undefined,
    });
    if (due !== undefined) counted = await countDue(due.all(), { ...observed, acted, policies: promised, signal });
  } catch (error) {
    if (error instanceof KubernetesError) failure = error;
    else bugs.push(error);
  }
  if (bugs.length > 0 && acted.length === 0) throw bugs[0];
  const actedOnClients: Acted[] = [];
  let recovered: Recovered = { ignored: new Map(), problems: [] };
  if (observed !== undefined && recover !== undefined)
    try {
      recovered = await recover((one) => {
        actedOnClients.push(one);
        progress.acted?.(one);
      });
    } catch (error) {
      bugs.push(error);
    }
  const after = requestsOf(target);
  const { clock: serverClock, server } = target.workload;
  const told = report({
    cluster: target.cluster.name,
    provider: target.cluster.provider,
    startedAt,
    finishedAt: clock(),
    observed,
    acted,
    recovered: { ...recovered, acted: actedOnClients },
    counted,
    failure,
    // An unchanged object means that no answer was received.
    serverClock: serverClock === undefined || serverClock === clockBefore ? undefined : { ...serverClock, server },
    requests: {
      sent: after.sent - before.sent,
      writes: after.writes - before.writes,
      retries: after.retries - before.retries,
    },
  });
  if (bugs.length > 0) throw new ApprovalBugError(bugs[0], told);
  return told;
}

function requestsOf({ workload, management }: SweepTarget): SweepReport['requests'] {
  const clients = new Set([workload, ...(management === undefined ? [] : [management])]);
  const total = { sent: 0, writes: 0, retries: 0 };
  for (const { stats } of clients) {
    total.sent += stats.requests;
    total.writes += stats.writes;
    total.retries += stats.retries;
  }
  return total;
}
