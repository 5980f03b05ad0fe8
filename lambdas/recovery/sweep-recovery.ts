import { createHash } from 'node:crypto';
import { type Acted, act, type Outcome } from '../approval/act.ts';
import { type Decision, decide } from '../approval/decide.ts';
import { indexEvidence } from '../approval/evidence/evidence.ts';
import type { ListedRequests } from '../approval/observe.ts';
import { isNewer } from '../approval/open-requests.ts';
import { problemsOf } from '../approval/report.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { toWhoeverEnters } from '../kubernetes/missing-right.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import type { SigningRequest } from '../resources/signing-request.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';
import { instant } from '../time.ts';
import type { Liveness } from './liveness.ts';
import { listRecoveries, type RecoveryTarget, readControlPlane, readLiveness } from './observe.ts';
import { closedBecause } from './open-window.ts';
import { nodeOfRequest, recoveryPolicy } from './policy.ts';
import { readApprovals, reserve } from './reservations.ts';

/** One request that was judged. */
export interface RecoveryRow {
  readonly csr: string;
  readonly uid: string;
  /** Absent when the request names none. */
  readonly node?: string;
  readonly requester: string;
  readonly verdict: VerdictKind;
  readonly reason: Reason;
  readonly message: string;
  readonly hostile: boolean;
  readonly outcome: Outcome['kind'];
  /** SHA-256 of the bytes of `spec.request`; absent when it was missing. */
  readonly requestHash?: string;
}

/** What one sweep of a window did. Plain data: for people, programs and the journal. */
export interface RecoveryReport {
  readonly version: 1;
  readonly cluster: string;
  readonly window: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Why nothing was looked at: the window is not open. */
  readonly closed?: string;
  /** False when anything could not be read, judged or written; `problems` then says what. */
  readonly complete: boolean;
  readonly rows: readonly RecoveryRow[];
  readonly ignored: Readonly<Partial<Record<Reason, number>>>;
  /** After this sweep, for each node: by the Lease, or what is known beyond it. */
  readonly approved: readonly { readonly node: string; readonly approvals: number }[];
  /** The connection was made although the serving certificate had expired. `notAfter` is RFC 3339. */
  readonly recovering?: { readonly notAfter: string; readonly sha256: string; readonly pin: string };
  readonly problems: readonly Problem[];
}

export interface RecoverySweepOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** What earlier sweeps of this window gave, by node: written here, so that a Lease that was removed begins no new count. @default what the cluster tells */
  readonly given?: Map<string, number>;
  /** Told of every row as soon as what became of it is known: for the journal, which then has it also when the sweep breaks off. */
  readonly onRow?: (row: RecoveryRow) => void;
}

/** The longest that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Sweeps one cluster once within a recovery window: reads, decides, counts each approval in the cluster and gives it. Safe to repeat, to interrupt and to run twice
 * at once: every write is bound to the object that was judged, an approval is counted before it is given, and the clock is looked at before each write.
 * What goes wrong with the cluster is part of the report; only a bug throws.
 */
export async function sweepRecovery(
  target: RecoveryTarget,
  window: RecoveryWindow,
  { clock, signal: caller, given = new Map(), onRow }: RecoverySweepOptions,
): Promise<RecoveryReport> {
  const startedAt = clock();
  // The client tries again what is throttled; nothing of that is sent after the window, whatever a server asks it to wait.
  const left = (instant(window.until) ?? 0) - startedAt;
  const signal = AbortSignal.any([caller, AbortSignal.timeout(Math.max(0, Math.min(left, MAX_TIMER_MS)))]);
  const problems: Problem[] = [];
  const rows: RecoveryRow[] = [];
  const done = (acted: Acted): void => {
    const row = rowOf(acted);
    rows.push(row);
    onRow?.(row);
  };
  let listed: ListedRequests | undefined;
  let approved = new Map<string, number>();
  const closed =
    window.cluster === target.clusterId ? closedBecause(window, startedAt) : 'the window is for another cluster';
  if (closed === undefined) {
    try {
      const { given: seen, ...requests } = await listRecoveries(target, window, signal);
      listed = requests;
      const approvals = await readApprovals(target.workload, window, clock(), signal);
      if (approvals.ok) approved = new Map(approvals.approved);
      else problems.push(problemOf(approvals.failure));
      for (const [node, count] of [...seen, ...given]) approved.set(node, Math.max(approved.get(node) ?? 0, count));
      const judged = approvals.ok ? requests : { ...requests, open: [] };
      problems.push(...(await judgeAndAct(target, window, judged, approved, { clock, signal, done })));
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      problems.push(problemOf(error));
    }
  }
  for (const [node, count] of approved) given.set(node, count);
  const { recovering } = target.workload;
  return {
    version: 1,
    cluster: target.clusterId,
    window: window.id,
    startedAt: new Date(startedAt).toISOString(),
    closed,
    complete: problems.length === 0,
    rows,
    ignored: Object.fromEntries(listed?.ignored ?? []),
    approved: [...approved].map(([node, approvals]) => ({ node, approvals })),
    recovering:
      recovering === undefined ? undefined : { ...recovering, notAfter: new Date(recovering.notAfter).toISOString() },
    problems,
  };
}

interface Acting {
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly done: (acted: Acted) => void;
}

/** @returns what is wrong */
async function judgeAndAct(
  target: RecoveryTarget,
  window: RecoveryWindow,
  listed: ListedRequests,
  approved: Map<string, number>,
  { clock, signal, done }: Acting,
): Promise<readonly Problem[]> {
  const { cluster, clusterId, workload: client } = target;
  const [evidence, liveness] =
    listed.open.length === 0
      ? [indexEvidence([]), new Map<string, Liveness>()]
      : await Promise.all([readControlPlane(target, window, signal), readLiveness(target, window, signal)]);
  const policies = [recoveryPolicy({ clusterId, window, liveness, approved })];
  const decisions: Decision[] = [];
  const judging = decide(cluster, { open: listed.open, evidence }, policies, clock());
  for await (const decision of inTurns(judging, (decided) => decided)) {
    decisions.push(decision);
    if (signal.aborted) break;
  }
  const acted = await act(onlyNewest(decisions), {
    client,
    evidence,
    policies,
    now: clock,
    signal,
    onActed: done,
    // Each is counted first, in one Lease.
    atOnce: 1,
    async instead({ csr }) {
      const node = nodeOfRequest(csr);
      if (node === undefined) return { kind: 'unfinished' };
      const refused = await reserve(client, window, node, approved.get(node) ?? 0, clock, signal);
      if (refused !== undefined) return refused;
      approved.set(node, (approved.get(node) ?? 0) + 1);
      return signal.aborted || closedBecause(window, clock()) !== undefined ? { kind: 'unfinished' } : undefined;
    },
  });
  return [...[...liveness].flatMap(livenessProblem), ...problemsOf({ ...listed, evidence }, acted)];
}

/**
 * Of the requests of one node that pass, only the newest is approved, because its kubelet has given up on the others. One that does not pass never stands in the way
 * of one that does. Pure.
 */
export function onlyNewest(decisions: readonly Decision[]): readonly Decision[] {
  const newest = new Map<string | undefined, SigningRequest>();
  for (const { csr, verdict } of decisions) {
    if (verdict.verdict !== 'approve') continue;
    const node = nodeOfRequest(csr);
    const known = newest.get(node);
    if (known === undefined || isNewer(csr, known)) newest.set(node, csr);
  }
  return decisions.map((decision) => {
    const last = newest.get(nodeOfRequest(decision.csr));
    if (decision.verdict.verdict !== 'approve' || last === undefined || last === decision.csr) return decision;
    const message = `the node has a newer request: ${printable(last.name, 100)}`;
    return { ...decision, verdict: { ...decision.verdict, verdict: 'leave', reason: 'Superseded', message } };
  });
}

function livenessProblem([node, seen]: readonly [string, Liveness]): readonly Problem[] {
  if (seen.kind !== 'unreadable') return [];
  const remedy = `Give certmarshal the rights of recovery: ${toWhoeverEnters('certmarshal rbac --recovery')}.`;
  return [{ kind: 'unreadable', object: `Node ${node}`, message: printable(seen.problem, 400), remedy }];
}

function rowOf({ csr, verdict, outcome }: Acted): RecoveryRow {
  return {
    csr: printable(csr.name, 253),
    uid: printable(csr.uid, 128),
    node: nodeOfRequest(csr),
    requester: printable(csr.username, 300),
    verdict: verdict.verdict,
    reason: verdict.reason,
    message: verdict.message,
    hostile: verdict.hostile,
    outcome: outcome.kind,
    requestHash: csr.request === undefined ? undefined : createHash('sha256').update(csr.request).digest('hex'),
  };
}
