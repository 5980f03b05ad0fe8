import { type Acted, act } from '../approval/act.ts';
import { type Decision, decide } from '../approval/decide.ts';
import type { SweepTarget } from '../approval/observe.ts';
import { problemsOf, type Recovered } from '../approval/report.ts';
import { isNewer } from '../approval/request.ts';
import { requestedNode } from '../approval/requested-node.ts';
import type { Outcome } from '../approval/rules/rules.ts';
import { type Problem, problemOf } from '../contracts/problem.ts';
import { KubernetesError } from '../kubernetes/errors.ts';
import { toWhoeverEnters } from '../kubernetes/missing-right.ts';
import { printable } from '../printable.ts';
import { inTurns } from '../processor-time.ts';
import { listRecoveries, readControlPlane, readLiveness } from './observe.ts';
import { recoveryPolicy } from './policy.ts';
import { isOver, type Recovery } from './recovery.ts';

export interface RecoverOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** Decides and writes nothing: what would be approved is `observed`. @default false */
  readonly dryRun?: boolean;
  /** Called with every decision as soon as its result is known. */
  readonly onActed: (acted: Acted) => void;
}

const NOTHING: Recovered = { ignored: new Map(), problems: [] };

/**
 * Judges the requests for client certificates of one cluster once, and approves those of the named nodes. Safe to
 * repeat and to interrupt: every write is bound to the judged object, and the clock is checked before each. Problems of
 * the cluster are part of the result; only a bug throws.
 */
export async function recoverNodes(
  target: SweepTarget,
  recovery: Recovery,
  { clock, signal, dryRun = false, onActed }: RecoverOptions,
): Promise<Recovered> {
  const now = clock();
  if (isOver(recovery, now)) return NOTHING;
  // The client retries throttled calls, but sends nothing after the end, even if a server asks it to wait.
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(Date.parse(recovery.until) - now)]);
  const { ignored, problems } = await judgeAndWrite(target, recovery, { clock, signal: inTime, dryRun, onActed });
  return {
    ignored,
    problems: problems.map((problem) => ({ ...problem, kind: `recovery-${problem.kind}`, ofRecovery: true })),
  };
}

async function judgeAndWrite(
  target: SweepTarget,
  recovery: Recovery,
  { clock, signal, dryRun, onActed }: Required<RecoverOptions>,
): Promise<Recovered> {
  const { cluster, workload: client } = target;
  try {
    const { approved, ...listed } = await listRecoveries(target, signal);
    const nodes = listed.open.length === 0 ? [] : recovery.nodes;
    const [evidence, liveness] = await Promise.all([
      readControlPlane(target, nodes, signal),
      readLiveness(target, nodes, clock, signal),
    ]);
    const policies = [recoveryPolicy({ recovery, liveness, approved })];
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
      async instead() {
        if (dryRun) return { kind: 'observed' };
        return isOver(recovery, clock()) ? { kind: 'unfinished' } : undefined;
      },
    });
    const unreadable = [...liveness].flatMap(([node, seen]) => livenessProblem(node, seen));
    return { ignored: listed.ignored, problems: [...unreadable, ...problemsOf({ ...listed, evidence }, acted)] };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { ...NOTHING, problems: [problemOf(error)] };
  }
}

/**
 * Of the passing requests of a node only the newest is approved: its kubelet has given up on the others, and the list
 * does not count an approval of the same sweep yet. A failing request never blocks a passing one. Pure.
 */
export function onlyNewest(decisions: readonly Decision[]): readonly Decision[] {
  const passing = decisions.filter(({ verdict }) => verdict.verdict === 'approve');
  const byAge = passing.toSorted((a, b) => (isNewer(a.csr, b.csr) ? 1 : -1));
  const newest = new Map(byAge.map((decision) => [requestedNode(decision.csr), decision]));
  return decisions.map((decision) => {
    const last = decision.verdict.verdict === 'approve' ? newest.get(requestedNode(decision.csr)) : decision;
    if (last === undefined || last === decision) return decision;
    const facts = { cause: 'newer', csr: printable(last.csr.name, 100) } as const;
    return { ...decision, verdict: { ...decision.verdict, verdict: 'leave', reason: 'Superseded', facts } };
  });
}

function livenessProblem(node: string, seen: Outcome): readonly Problem[] {
  if (seen.passed || seen.reason !== 'NodeUnreadable') return [];
  const remedy = `Give certmarshal the rights of recovery: ${toWhoeverEnters('certmarshal rbac --recovery')}.`;
  return [{ kind: 'unreadable', object: `Node ${node}`, message: seen.found, remedy }];
}
