import type { EksAuditReader } from '../../aws/eks-audit.ts';
import type { EksNodeGroups } from '../../aws/eks-nodegroups.ts';
import type { RolloutSummary } from '../../contracts/rollout-summary.ts';
import type { AwsScope } from '../../contracts/target.ts';
import { nodeGroupEntries, rolloutEntries } from '../../journal/rollout-entry.ts';
import { nodeGroupSummaryOf } from '../../rollout/node-group-summary.ts';
import type { RolloutPolicy } from '../../rollout/policy.ts';
import { rolloutPolicyOf } from '../../rollout/policy-of.ts';
import { stepNodeGroups } from '../../rollout/step-node-groups.ts';
import { type RolloutLedger, stepRollout } from '../../rollout/step-rollout.ts';
import { summaryOf } from '../../rollout/summary.ts';
import { handshakes } from '../../tls/handshakes.ts';
import type { Stage } from '../stage.ts';

export interface RolloutStageOptions {
  /** `rollouts.clusters` of fleet.yaml. */
  readonly policies: readonly RolloutPolicy[];
  /** Absent if nothing may begin: a rollout in progress is then only observed. */
  readonly ledger?: RolloutLedger;
  /** Version of certmarshal. */
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Reads and updates the node groups of EKS clusters. @default none */
  readonly eks?: EksOfClusters;
  /** @default that there is */
  readonly step?: typeof stepRollout;
  /** @default that there is */
  readonly stepGroups?: typeof stepNodeGroups;
}

/** For the cluster with this name in this account and Region. */
export interface EksOfClusters {
  reader(scope: AwsScope, name: string): Pick<EksAuditReader, 'authorities'>;
  nodeGroups(scope: AwsScope, name: string): EksNodeGroups;
}

/** Makes the next step of the rollout of one cluster. */
export function createRolloutStage({
  policies,
  ledger,
  program,
  clock,
  eks,
  step = stepRollout,
  stepGroups = stepNodeGroups,
}: RolloutStageOptions): Stage<true, RolloutSummary> {
  return async ({ order: { target, handshakes: reached }, open, held, signal }) => {
    if (open === undefined) return { problems: [] };
    const { management, machinesNamespace, workload } = open;
    const options = {
      policy: rolloutPolicyOf(policies, target),
      ledger,
      // Plans without writing.
      holdWrites: held,
      clock,
      signal,
    };
    const { access, cluster, eksAnywhereNamespace } = target;
    const context = { cluster: target.id, program };
    if (access.kind === 'eks' && eks !== undefined) {
      const { account, region } = access.scope;
      const reader = eks.reader(access.scope, cluster.name);
      const groups = {
        id: target.id,
        name: cluster.name,
        account,
        region,
        workload,
        authorities: async (until: AbortSignal) => reader.authorities(until),
        nodeGroups: eks.nodeGroups(access.scope, cluster.name),
      };
      const stepped = await stepGroups(groups, options);
      const { problems } = stepped;
      return { result: nodeGroupSummaryOf(stepped), problems, decisions: nodeGroupEntries(stepped, context) };
    }
    if (management === undefined) return { result: nothingToRoll(clock()), problems: [] };
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
        // Clients of the cluster trust the CAs of its control plane.
        authorities: caPem === undefined ? undefined : async () => caPem,
        readEtcdClientSecret: target.audit?.secrets === true ? true : undefined,
      },
      { ...options, trigger: 'schedule' },
    );
    const { problems } = stepped;
    return { result: summaryOf(stepped), problems, decisions: rolloutEntries(stepped, context) };
  };
}

/** Of an EKS cluster only node groups. */
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
