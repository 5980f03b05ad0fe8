import type { ApprovalPolicy } from '../../approval/policy.ts';
import { enforcing } from '../../approval/selection.ts';
import type { RolloutSummary } from '../../contracts/rollout-summary.ts';
import { rolloutEntries } from '../../journal/rollout-entry.ts';
import type { RolloutPolicy } from '../../rollout/policy.ts';
import { rolloutPolicyOf } from '../../rollout/policy-of.ts';
import { type RolloutLedger, stepRollout } from '../../rollout/step-rollout.ts';
import { summaryOf } from '../../rollout/summary.ts';
import { handshakes } from '../../tls/handshakes.ts';
import type { Stage } from '../stage.ts';

export interface RolloutStageOptions {
  /** `rollouts.clusters` of fleet.yaml. */
  readonly policies: readonly RolloutPolicy[];
  /** `policies` of fleet.yaml. */
  readonly approvals: readonly ApprovalPolicy[];
  /** Absent if nothing may begin: a rollout in progress is then only observed. */
  readonly ledger?: RolloutLedger;
  /** Version of certmarshal. */
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
    failed: [],
    failedCount: 0,
    reasons: [],
  };
}
