import { type Acted, act } from '../approval/act.ts';
import { type Decision, decide } from '../approval/decide.ts';
import { problemsOf, type ToldRequest, toldOf } from '../approval/report.ts';
import { isNewer } from '../approval/request.ts';
import type { Outcome } from '../approval/rules/rules.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import type { RecoveryWindow } from '../contracts/recovery-window.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { toWhoeverEnters } from '../kubernetes/missing-right.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import { requestHash } from '../resources/signing-request.ts';
import type { Reason } from '../tables/reasons.ts';
import { instant } from '../time.ts';
import { listRecoveries, type RecoveryTarget, readControlPlane, readLiveness } from './observe.ts';
import { closedBecause } from './open-window.ts';
import { nodeOfRequest, recoveryPolicy } from './policy.ts';
import { RecoveryLeaseError, readApprovals, reserve } from './reservations.ts';

/** One judged request. */
export interface RecoveryRow extends ToldRequest {
  /** Absent when the request names none. */
  readonly node?: string;
  readonly requester: string;
  /** SHA-256 of the bytes of `spec.request`; absent when it was missing. */
  readonly requestHash?: string;
}

/** The result of one sweep of a window. Plain data: for people, programs and the journal. */
export interface RecoveryReport {
  readonly version: 1;
  readonly cluster: string;
  readonly window: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Why nothing was read: the window is not open. */
  readonly closed?: string;
  /** False if anything could not be read, judged or written; `problems` has the reasons. */
  readonly complete: boolean;
  readonly rows: readonly RecoveryRow[];
  readonly ignored: Readonly<Partial<Record<Reason, number>>>;
  /** Approvals of each node after this sweep, from the Lease or known beyond it. */
  readonly approved: readonly { readonly node: string; readonly approvals: number }[];
  /** The connection was made although the serving certificate had expired. `notAfter` is RFC 3339. */
  readonly recovering?: { readonly notAfter: string; readonly sha256: string; readonly pin: string };
  readonly problems: readonly Problem[];
}

export interface RecoverySweepOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /**
   * Approvals of earlier sweeps of this window, by node: recorded, so that a deleted Lease starts no new count.
   * @default from the cluster
   */
  readonly given?: Map<string, number>;
  /** Decides and writes nothing: what would be approved is `observed`. @default false */
  readonly dryRun?: boolean;
  /** Called with every row as soon as its result is known: the journal has it even if the sweep is interrupted. */
  readonly onRow?: (row: RecoveryRow) => void;
}

/**
 * Sweeps one cluster once within a recovery window: reads, decides, counts each approval in the cluster and gives it.
 * Safe to repeat, to interrupt and to run concurrently: every write is bound to the judged object, an approval is
 * counted before it is given, and the clock is checked before each write. Problems of the cluster are part of the
 * report; only a bug throws.
 */
export async function sweepRecovery(
  target: RecoveryTarget,
  window: RecoveryWindow,
  { clock, signal, given = new Map(), dryRun = false, onRow }: RecoverySweepOptions,
): Promise<RecoveryReport> {
  const startedAt = clock();
  const rows: RecoveryRow[] = [];
  const onActed = (acted: Acted): void => {
    const { csr } = acted;
    const requester = printable(csr.username, 300);
    const row = { ...toldOf(acted), node: nodeOfRequest(csr), requester, requestHash: requestHash(csr) };
    rows.push(row);
    onRow?.(row);
  };
  const closed = closedBecause(window, target.clusterId, startedAt);
  // The client retries throttled calls, but sends nothing after the end of the window, even if a server asks it to
  // wait.
  const left = () => AbortSignal.timeout((instant(window.until) ?? 0) - startedAt);
  const { ignored, problems } =
    closed === undefined
      ? await sweepOpen(target, window, { clock, signal: AbortSignal.any([signal, left()]), given, dryRun, onActed })
      : NOTHING;
  const { recovering } = target.workload;
  return {
    version: 1,
    cluster: target.clusterId,
    window: window.id,
    startedAt: new Date(startedAt).toISOString(),
    closed,
    complete: problems.length === 0,
    rows,
    ignored: Object.fromEntries(ignored),
    approved: [...given].map(([node, approvals]) => ({ node, approvals })),
    recovering:
      recovering === undefined ? undefined : { ...recovering, notAfter: new Date(recovering.notAfter).toISOString() },
    problems,
  };
}

interface Sweeping extends Required<Pick<RecoverySweepOptions, 'clock' | 'signal' | 'given' | 'dryRun'>> {
  readonly onActed: (acted: Acted) => void;
}

interface SweptWindow {
  readonly ignored: ReadonlyMap<Reason, number>;
  readonly problems: readonly Problem[];
}

const NOTHING: SweptWindow = { ignored: new Map(), problems: [] };

async function sweepOpen(
  target: RecoveryTarget,
  window: RecoveryWindow,
  { clock, signal, given, dryRun, onActed }: Sweeping,
): Promise<SweptWindow> {
  const { cluster, clusterId, workload: client } = target;
  try {
    const { approvals } = await readApprovals(client, window, clock(), signal);
    const { given: seen, ...listed } = await listRecoveries(target, window, signal);
    for (const [node, count] of [...approvals, ...seen]) given.set(node, Math.max(given.get(node) ?? 0, count));
    const nodes = listed.open.length === 0 ? [] : window.nodes;
    const [evidence, liveness] = await Promise.all([
      readControlPlane(target, nodes, signal),
      readLiveness(target, nodes, clock, signal),
    ]);
    const policies = [recoveryPolicy({ clusterId, window, liveness, approved: given })];
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
      onActed,
      // Sequential: each is counted first, in one Lease.
      atOnce: 1,
      async instead({ csr }) {
        if (dryRun) return { kind: 'observed' };
        const node = nodeOfRequest(csr) ?? '';
        const refused = await reserve(client, window, node, given.get(node) ?? 0, clock, signal);
        if (refused !== undefined) return refused;
        given.set(node, (given.get(node) ?? 0) + 1);
        const isOver = signal.aborted || closedBecause(window, clusterId, clock()) !== undefined;
        return isOver ? { kind: 'unfinished' } : undefined;
      },
    });
    const asleep = [...liveness].flatMap(([node, seenOfIt]) => livenessProblem(node, seenOfIt));
    return { ignored: listed.ignored, problems: [...asleep, ...problemsOf({ ...listed, evidence }, acted)] };
  } catch (error) {
    if (!(error instanceof KubernetesError || error instanceof RecoveryLeaseError)) throw error;
    return { ...NOTHING, problems: [problemOf(error)] };
  }
}

/**
 * Of the passing requests of a node only the newest is approved: its kubelet has given up on the others. A failing
 * request never blocks a passing one. Pure.
 */
export function onlyNewest(decisions: readonly Decision[]): readonly Decision[] {
  const passing = decisions.filter(({ verdict }) => verdict.verdict === 'approve');
  const byAge = passing.toSorted((a, b) => (isNewer(a.csr, b.csr) ? 1 : -1));
  const newest = new Map(byAge.map((decision) => [nodeOfRequest(decision.csr), decision]));
  return decisions.map((decision) => {
    const last = decision.verdict.verdict === 'approve' ? newest.get(nodeOfRequest(decision.csr)) : decision;
    if (last === undefined || last === decision) return decision;
    const message = `the node has a newer request: ${printable(last.csr.name, 100)}`;
    return { ...decision, verdict: { ...decision.verdict, verdict: 'leave', reason: 'Superseded', message } };
  });
}

function livenessProblem(node: string, seen: Outcome): readonly Problem[] {
  if (seen.passed || seen.reason !== 'NodeUnreadable') return [];
  const remedy = `Give certmarshal the rights of recovery: ${toWhoeverEnters('certmarshal rbac --recovery')}.`;
  return [{ kind: 'unreadable', object: `Node ${node}`, message: seen.found, remedy }];
}
