import { handshakes } from '../probe/handshakes.ts';
import type { Problem } from '../problem.ts';
import type { RolloutPolicy } from '../rollout/policy.ts';
import { type RolloutLedger, stepRollout } from '../rollout-step/step-rollout.ts';
import type { OpenTarget } from './open-target.ts';
import { rolloutPolicyOf } from './rollout-policy-of.ts';
import { type RolloutSummary, summaryOf } from './rollout-summary.ts';
import type { Target } from './target.ts';

/** A step that is due. */
export interface DueRollout {
  readonly target: Target;
  readonly open: OpenTarget;
  /** The lane reaches the machines: without that nothing begins, and nothing can be verified. */
  readonly handshakes: boolean;
  /** Plan, and write nothing; why. */
  readonly holdWrites?: string;
  readonly signal: AbortSignal;
}

/** What became of it. */
export interface RolledCluster {
  readonly summary: RolloutSummary;
  readonly problems: readonly Problem[];
}

/** Makes the next step of the rollout of one cluster. Whatever is wrong outside of certmarshal is told; only a bug rejects. */
export type RollCluster = (due: DueRollout) => Promise<RolledCluster>;

export interface ClusterRollerOptions {
  /** `rollouts.clusters` of fleet.yaml. */
  readonly policies: readonly RolloutPolicy[];
  /** Absent where nothing may begin: then what goes on is only looked at. */
  readonly ledger?: RolloutLedger;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** @default that there is */
  readonly step?: typeof stepRollout;
}

export function createClusterRoller({
  policies,
  ledger,
  clock,
  step = stepRollout,
}: ClusterRollerOptions): RollCluster {
  return async ({ target, open, handshakes: reached, holdWrites, signal }) => {
    const { management, machinesNamespace, workload } = open;
    if (management === undefined) return { summary: nothingToRoll(clock()), problems: [] };
    const { caPem } = workload;
    const stepped = await step(
      {
        id: target.id,
        name: target.cluster.name,
        management,
        managesItself: management === workload,
        ...(machinesNamespace === undefined ? {} : { namespace: machinesNamespace }),
        ...(reached ? { handshakes } : {}),
        // What a client of the cluster trusts are the authorities of its control plane.
        ...(caPem === undefined ? {} : { authorities: async () => caPem }),
        ...(target.audit?.secrets === true ? { readEtcdClientSecret: true } : {}),
      },
      {
        policy: rolloutPolicyOf(policies, target),
        trigger: 'schedule',
        ...(ledger === undefined ? {} : { ledger }),
        ...(holdWrites === undefined ? {} : { holdWrites }),
        clock,
        signal,
      },
    );
    return { summary: summaryOf(stepped), problems: stepped.problems };
  };
}

/** Of an EKS cluster AWS makes the control plane. */
function nothingToRoll(now: number): RolloutSummary {
  return {
    state: 'off',
    message: 'it has no control plane machines of its own, so there is nothing that a rollout renews',
    at: new Date(now).toISOString(),
    failed: [],
    failedCount: 0,
    reasons: [],
  };
}
