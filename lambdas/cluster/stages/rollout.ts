import type { ApprovalPolicy } from '../../approval/policy.ts';
import { enforcing } from '../../approval/selection.ts';
import type { RolloutMark } from '../../contracts/rollout-mark.ts';
import type { RolloutSummary } from '../../contracts/rollout-summary.ts';
import type { RolloutEntry } from '../../journal/journal.ts';
import { printable } from '../../printable.ts';
import type { RolloutPolicy } from '../../rollout/policy.ts';
import { rolloutPolicyOf } from '../../rollout/policy-of.ts';
import type { RolloutStep, RolloutWrite } from '../../rollout/step.ts';
import { type RolloutLedger, type RolloutStepped, stepRollout } from '../../rollout/step-rollout.ts';
import { summaryOf } from '../../rollout/summary.ts';
import { handshakes } from '../../tls/handshakes.ts';
import type { Stage } from '../stage.ts';

export interface RolloutStageOptions {
  /** `rollouts.clusters` of fleet.yaml. */
  readonly policies: readonly RolloutPolicy[];
  readonly approvals: readonly ApprovalPolicy[];
  /** Absent if nothing may begin: a rollout in progress is then only observed. */
  readonly ledger?: RolloutLedger;
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** @default that there is */
  readonly step?: typeof stepRollout;
}

/** Makes the next step of the rollout of one cluster. */
export function createRolloutStage({
  policies,
  approvals,
  ledger,
  program,
  clock,
  step = stepRollout,
}: RolloutStageOptions): Stage<true, RolloutSummary> {
  return async ({ order: { target, handshakes: reached }, open, held, signal }) => {
    if (open === undefined) return { problems: [] };
    const { management, machinesNamespace, workload } = open;
    const { cluster, eksAnywhereNamespace } = target;
    if (management === undefined) return { result: nothingToRoll(clock()), problems: [] };
    const { caPem } = workload;
    const stepped = await step(
      {
        id: target.id,
        name: cluster.name,
        management,
        managesItself: management === workload,
        workload,
        approves: enforcing(approvals, cluster).length > 0,
        namespace: machinesNamespace,
        eksAnywhereNamespace,
        handshakes: reached ? handshakes : undefined,
        // Clients of the cluster trust the CAs of its control plane.
        authorities: caPem === undefined ? undefined : async () => caPem,
        readEtcdClientSecret: target.audit?.secrets === true ? true : undefined,
      },
      {
        policy: rolloutPolicyOf(policies, target),
        trigger: 'schedule',
        ledger,
        // Plans without writing.
        holdWrites: held,
        clock,
        signal,
      },
    );
    const entries = rolloutEntries(stepped, { cluster: target.id, program });
    return { result: summaryOf(stepped), problems: stepped.problems, decisions: entries };
  };
}

function nothingToRoll(now: number): RolloutSummary {
  return {
    state: 'off',
    message: 'it has no control plane machines of its own, so a rollout would renew nothing',
    at: new Date(now).toISOString(),
    reasons: [],
    reasonCount: 0,
  };
}

/** Fields shared by all entries of one step. */
interface RolloutContext {
  readonly cluster: string;
  readonly program: string;
}

const MAX_TEXT = 600;

/** The entries of one step of a rollout: one for each attempted write. Pure. */
export function rolloutEntries(
  { step, written, at }: Pick<RolloutStepped, 'step' | 'written' | 'at'>,
  { cluster, program }: RolloutContext,
): readonly RolloutEntry[] {
  const write = writeOf(step);
  // The object changed in between and the write is planned again: nothing was decided.
  if (write === undefined || written === undefined || written.kind === 'overtaken') return [];
  const { object } = write;
  const mark = 'mark' in write ? write.mark : step.mark;
  const problem = written.problem === undefined ? undefined : `${written.problem.object}: ${written.problem.message}`;
  const words = write.kind === 'hold' && problem === undefined ? write.hold.message : problem;
  return [
    {
      version: 1,
      kind: 'rollout',
      at,
      cluster,
      object: `${write.kind === 'roll-etcd' ? 'EtcdadmCluster' : 'KubeadmControlPlane'} ${printable(object.namespace, 253)}/${printable(object.name, 253)}`,
      uid: printable(object.uid, 100),
      write: write.kind,
      ...ofMark(mark),
      reason: printable(write.kind === 'hold' ? write.hold.reason : write.mark.reason, 300),
      message: words === undefined ? undefined : printable(words, MAX_TEXT),
      outcome: written.kind,
      program,
    },
  ];
}

function writeOf(step: RolloutStep): RolloutWrite | undefined {
  return step.kind === 'act' || step.kind === 'hold' ? step.write : undefined;
}

function ofMark(mark: RolloutMark | undefined): Pick<RolloutEntry, 'rollout' | 'start' | 'trigger'> {
  if (mark === undefined) return {};
  return { rollout: printable(mark.id, 26), start: printable(mark.start, 40), trigger: mark.trigger };
}
