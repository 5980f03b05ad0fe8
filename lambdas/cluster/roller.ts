import type { EksAuditReader } from '../aws/eks-audit.ts';
import type { EksNodeGroups } from '../aws/eks-nodegroups.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RolloutSummary } from '../contracts/rollout-summary.ts';
import type { AwsScope, Target } from '../contracts/target.ts';
import { nodeGroupSummaryOf } from '../rollout/node-group-summary.ts';
import type { RolloutPolicy } from '../rollout/policy.ts';
import { rolloutPolicyOf } from '../rollout/policy-of.ts';
import { type NodeGroupsStepped, stepNodeGroups } from '../rollout/step-node-groups.ts';
import { type RolloutLedger, type RolloutStepped, stepRollout } from '../rollout/step-rollout.ts';
import { summaryOf } from '../rollout/summary.ts';
import { handshakes } from '../tls/handshakes.ts';
import type { OpenTarget } from './open-target.ts';

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
  /** For the journal; absent where there is nothing to roll. */
  readonly stepped?: Pick<RolloutStepped, 'step' | 'written' | 'at'>;
  /** The same of node groups. */
  readonly steppedGroups?: Pick<NodeGroupsStepped, 'step' | 'written' | 'at'>;
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
  /** Reads and updates the node groups of EKS clusters. @default none are looked at */
  readonly eks?: EksOfClusters;
  /** @default that there is */
  readonly step?: typeof stepRollout;
  /** @default that there is */
  readonly stepGroups?: typeof stepNodeGroups;
}

/** Of the cluster with this name in this account and Region. */
export interface EksOfClusters {
  authorities(scope: AwsScope, name: string): EksAuditReader['authorities'];
  nodeGroups(scope: AwsScope, name: string): EksNodeGroups;
}

export function createClusterRoller({
  policies,
  ledger,
  clock,
  eks,
  step = stepRollout,
  stepGroups = stepNodeGroups,
}: ClusterRollerOptions): RollCluster {
  return async ({ target, open, handshakes: reached, holdWrites, signal }) => {
    const { management, machinesNamespace, workload } = open;
    const options = {
      policy: rolloutPolicyOf(policies, target),
      ledger,
      holdWrites,
      clock,
      signal,
    };
    const { access, cluster, eksAnywhereNamespace } = target;
    if (access.kind === 'eks' && eks !== undefined) {
      const { account, region } = access.scope;
      const groups = {
        id: target.id,
        name: cluster.name,
        account,
        region,
        workload,
        authorities: eks.authorities(access.scope, cluster.name),
        nodeGroups: eks.nodeGroups(access.scope, cluster.name),
      };
      const steppedGroups = await stepGroups(groups, options);
      return { summary: nodeGroupSummaryOf(steppedGroups), problems: steppedGroups.problems, steppedGroups };
    }
    if (management === undefined) return { summary: nothingToRoll(clock()), problems: [] };
    const { caPem } = workload;
    const stepped = await step(
      {
        id: target.id,
        name: cluster.name,
        management,
        managesItself: management === workload,
        namespace: machinesNamespace,
        eksAnywhereNamespace,
        handshakes: reached ? handshakes : undefined,
        // What a client of the cluster trusts are the authorities of its control plane.
        authorities: caPem === undefined ? undefined : async () => caPem,
        readEtcdClientSecret: target.audit?.secrets === true ? true : undefined,
      },
      { ...options, trigger: 'schedule' },
    );
    return { summary: summaryOf(stepped), problems: stepped.problems, stepped };
  };
}

/** Of a cluster that AWS makes, nothing but node groups. */
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
