import { createHash } from 'node:crypto';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { updateApproval } from '../kubernetes/certificate-signing-requests.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { toWhoeverEnters } from '../kubernetes/missing-right.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import { type ApprovalSubject } from '../resources/approval-subject.ts';
import { instant } from '../time.ts';
import { decideRecovery, onlyNewest, type RecoveryDecision, type RecoveryVerdict } from './decide.ts';
import {
  listRecoveries,
  type OpenRecoveries,
  type OpenRecovery,
  RECOVERED_CONDITION,
  type RecoveryTarget,
  readControlPlane,
  readLiveness,
} from './observe.ts';
import { closedBecause } from './open-window.ts';
import type { RecoveryReason } from './reasons.ts';
import { readApprovals, reserve } from './reservations.ts';
import type { RecoveryContext } from './rules.ts';

/**
 * What became of a decision.
 *
 * - `none`: nothing to write.
 * - `written`: the condition is on the object.
 * - `overtaken`: somebody else decided, deleted or replaced the object since it was read; nothing was written.
 * - `failed`: it was not written, for sure.
 * - `unfinished`: the time was over, or the window closed, before the write.
 * - `unknown`: the write was sent, and no answer says whether it was done.
 */
export type RecoveryOutcome = 'none' | 'written' | 'overtaken' | 'failed' | 'unfinished' | 'unknown';

/** One request that was judged. */
export interface RecoveryRow {
  readonly csr: string;
  readonly uid: string;
  /** Absent when the request names none. */
  readonly node?: string;
  readonly requester: string;
  readonly verdict: RecoveryVerdict['verdict'];
  readonly reason: RecoveryReason;
  readonly message: string;
  readonly hostile: boolean;
  readonly outcome: RecoveryOutcome;
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
  readonly ignored: Readonly<Partial<Record<RecoveryReason, number>>>;
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
  const done = (row: RecoveryRow): void => {
    rows.push(row);
    onRow?.(row);
  };
  let read: OpenRecoveries | undefined;
  let approved = new Map<string, number>();
  const closed =
    window.cluster === target.clusterId ? closedBecause(window, startedAt) : 'the window is for another cluster';
  if (closed === undefined) {
    try {
      read = await listRecoveries(target, window.openedAt, signal);
      problems.push(...read.problems);
      const approvals = await readApprovals(target.workload, window, clock(), signal);
      approved = new Map(approvals.ok ? approvals.approved : []);
      for (const [node, count] of [...read.given, ...given])
        approved.set(node, Math.max(approved.get(node) ?? 0, count));
      if (!approvals.ok) problems.push(approvals.problem);
      else if (read.open.length > 0)
        await decideAndAct(target, window, read, approved, { clock, signal, done, problems });
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
    ignored: Object.fromEntries(read?.ignored ?? []),
    approved: [...approved].map(([node, approvals]) => ({ node, approvals })),
    recovering:
      recovering === undefined ? undefined : { ...recovering, notAfter: new Date(recovering.notAfter).toISOString() },
    problems,
  };
}

interface Acting {
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly done: (row: RecoveryRow) => void;
  readonly problems: Problem[];
}

async function decideAndAct(
  target: RecoveryTarget,
  window: RecoveryWindow,
  { open }: OpenRecoveries,
  approved: Map<string, number>,
  acting: Acting,
): Promise<void> {
  const { clock, signal, problems, done } = acting;
  const [readings, liveness] = await Promise.all([
    readControlPlane(target, window, signal),
    readLiveness(target, window, signal),
  ]);
  for (const reading of readings)
    if (!reading.ok)
      problems.push({
        kind: 'evidence',
        object: reading.source,
        message: reading.problem,
        remedy: reading.remedy,
      });
  for (const [node, seen] of liveness)
    if (seen.kind === 'unreadable')
      problems.push({
        kind: 'unreadable',
        object: `Node ${node}`,
        message: printable(seen.problem, 400),
        remedy: `Give certmarshal the rights of recovery: ${toWhoeverEnters('certmarshal rbac --recovery')}.`,
      });
  const { cluster, clusterId } = target;
  const context: RecoveryContext = { cluster, clusterId, window, readings, liveness, approved };
  const now = clock();
  const judge = ({ request }: OpenRecovery): RecoveryDecision => ({
    request,
    verdict: decideRecovery(request, context, now),
  });
  const decisions: RecoveryDecision[] = [];
  for await (const decision of inTurns(open, judge)) {
    decisions.push(decision);
    if (signal.aborted) break;
  }
  if (decisions.length < open.length)
    problems.push({
      kind: 'aborted',
      object: `open requests of ${printable(clusterId, 150)}`,
      message: `no time was left after ${decisions.length} of ${open.length} were judged`,
      remedy: 'The next sweep judges them. If it stays, find out who makes so many.',
    });
  const subjects = new Map(open.map(({ request, subject }) => [request, subject]));
  for (const decision of onlyNewest(decisions)) {
    if (decision.verdict.verdict === 'approve')
      done(await approve(target, window, decision, subjects.get(decision.request), approved, acting));
    else done(rowOf(decision, 'none'));
  }
}

/** One at a time: there are at most a few. */
async function approve(
  { workload }: RecoveryTarget,
  window: RecoveryWindow,
  decision: RecoveryDecision,
  subject: ApprovalSubject | undefined,
  approved: Map<string, number>,
  { clock, signal, problems }: Acting,
): Promise<RecoveryRow> {
  const { node } = decision.verdict;
  const left = (reason: RecoveryReason, message: string): RecoveryRow =>
    rowOf({ ...decision, verdict: { ...decision.verdict, verdict: 'leave', reason, message } }, 'none');
  if (subject === undefined || node === undefined)
    return left('ObjectMalformed', 'metadata lacks uid or resourceVersion, or is too large to be written back');
  if (signal.aborted) return rowOf(decision, 'unfinished');
  let sent = false;
  try {
    const reserved = await reserve(workload, window, node, approved.get(node) ?? 0, clock, signal);
    switch (reserved.kind) {
      case 'spent':
        return left('ApprovalsSpent', 'another sweep has given the last one meanwhile');
      case 'refused':
        problems.push(reserved.problem);
        return rowOf(decision, 'failed');
      case 'closed':
      case 'busy':
        return rowOf(decision, 'unfinished');
      case 'reserved':
        approved.set(node, (approved.get(node) ?? 0) + 1);
    }
    if (signal.aborted || closedBecause(window, clock()) !== undefined) return rowOf(decision, 'unfinished');
    sent = true;
    const { message } = decision.verdict;
    await updateApproval(workload, subject, { type: 'Approved', reason: RECOVERED_CONDITION, message }, signal);
    return rowOf(decision, 'written');
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (sent && (error.kind === 'conflict' || error.kind === 'not-found')) return rowOf(decision, 'overtaken');
    problems.push(problemOf(error));
    return rowOf(decision, sent && !isRefused(error) ? 'unknown' : 'failed');
  }
}

/** Certainly not done. A status 5xx does not say so. */
function isRefused({ status, code }: KubernetesError): boolean {
  return status === undefined ? code === 'ECONNREFUSED' : status >= 300 && status < 500;
}

function rowOf({ request: { csr }, verdict }: RecoveryDecision, outcome: RecoveryOutcome): RecoveryRow {
  const { node } = verdict;
  return {
    csr: printable(csr.name, 253),
    uid: printable(csr.uid, 128),
    node,
    requester: printable(csr.username, 300),
    verdict: verdict.verdict,
    reason: verdict.reason,
    message: verdict.message,
    hostile: verdict.hostile,
    outcome,
    requestHash: csr.request === undefined ? undefined : createHash('sha256').update(csr.request).digest('hex'),
  };
}
