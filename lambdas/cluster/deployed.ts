import { randomBytes } from 'node:crypto';
import packageJson from '../../package.json' with { type: 'json' };
import type { AuditRules } from '../audit/audit.ts';
import { isEksEndpoint } from '../aws/eks-endpoint.ts';
import { createTokenSigner } from '../aws/eks-token.ts';
import { createSecretReader } from '../aws/kubeconfig-secret.ts';
import { createCredentials } from '../aws/spoke-credentials.ts';
import type { FleetRollouts, RecoveryEntry } from '../config/fleet.ts';
import type { Journal } from '../journal/journal.ts';
import { lazy, once } from '../lazy.ts';
import type { recoverNodes } from '../recovery/recover-nodes.ts';
import type { State } from '../state.ts';
import { createMinute, type MinuteOptions, type SweepCluster } from './minute.ts';

export interface DeployedOptions extends Pick<MinuteOptions, 'policies'> {
  /** ARN of the role that signs the tokens, for remedies. */
  readonly principalArn: string;
  readonly auditRules: AuditRules;
  readonly rollouts: FleetRollouts;
  readonly recovery: readonly RecoveryEntry[];
  readonly buckets: { readonly snapshots: string; readonly state: string; readonly journal: string };
}

export interface HomeOptions
  extends Pick<MinuteOptions, 'addresses' | 'clock' | 'idle' | 'openContext' | 'policies' | 'principalArn'> {
  /** Of the sessions of roles in other accounts. */
  readonly sessionName: string;
  readonly auditRules: AuditRules;
  /** @default no step of a rollout is made */
  readonly rollouts?: FleetRollouts | undefined;
  readonly recovery: readonly RecoveryEntry[];
  /** @default with writes */
  readonly recoverNodes?: typeof recoverNodes | undefined;
  readonly state: () => Promise<State>;
  /** Of the snapshots. */
  readonly snapshots: () => Promise<State>;
  /** @default decisions are not recorded */
  readonly journal?: Journal | undefined;
}

const program = packageJson.version;
const random = (): string => randomBytes(8).toString('hex');

/**
 * The minute of a cluster in the sweep function. Most sweeps need little code, and a cold start must not delay
 * approvals: the rest is loaded at first use.
 */
export function createDeployedMinute({ buckets, ...options }: DeployedOptions): SweepCluster {
  const s3 = once(async () => new (await import('@aws-sdk/client-s3')).S3Client());
  const stateIn = async (bucket: string) => {
    const [client, { createS3State }] = await Promise.all([s3(), import('../aws/s3-state.ts')]);
    return createS3State({ client, bucket });
  };
  return createHomeMinute({
    ...options,
    addresses: 'cluster',
    clock: Date.now,
    sessionName: 'certmarshal-sweep',
    state: async () => stateIn(buckets.state),
    snapshots: async () => stateIn(buckets.snapshots),
    journal: {
      append: lazy(async () => {
        const [client, { createS3Journal }] = await Promise.all([s3(), import('../journal/s3-journal.ts')]);
        const journal = createS3Journal({ client, bucket: buckets.journal, random });
        return async (...entries) => journal.append(...entries);
      }),
    },
  });
}

/** The minute of a cluster, in AWS or at the keyboard. */
export function createHomeMinute({
  sessionName,
  auditRules,
  rollouts,
  recovery,
  recoverNodes,
  state,
  snapshots,
  journal,
  ...options
}: HomeOptions): SweepCluster {
  const { clock, policies } = options;
  const credentials = createCredentials({ sessionName });
  const instances = once(async () => (await import('../aws/ec2-instances.ts')).createInstanceReader({ credentials }));
  const eksAudit = once(async () => (await import('../aws/eks-audit.ts')).createEksAuditReader({ credentials }));
  return createMinute({
    ...options,
    readSecret: createSecretReader(),
    signToken: createTokenSigner({}),
    isEksEndpoint,
    // EKS is only asked about a cluster that cannot be reached.
    describeCluster: lazy(async () => {
      const reader = (await import('../aws/eks-clusters.ts')).createEksReader({ credentials });
      return async (...call) => reader.describeCluster(...call);
    }),
    // EC2's schemas are as large as the rest of a sweep, and most sweeps find no open request.
    async *listInstances(...query) {
      yield* (await instances())(...query);
    },
    recovery: {
      entries: recovery,
      recoverNodes: recoverNodes ?? lazy(async () => (await import('../recovery/recover-nodes.ts')).recoverNodes),
    },
    audit: lazy(async () => {
      const [eks, stored, { createSnapshots }, { createAuditStage }] = await Promise.all([
        eksAudit(),
        snapshots(),
        import('../audit/snapshots.ts'),
        import('./stages/audit.ts'),
      ]);
      return createAuditStage({ snapshots: createSnapshots(stored), ...auditRules, policies, eksAudit: eks, clock });
    }),
    ...(rollouts && { rollout: lazyRollout(rollouts, state, options) }),
    ...(journal && { journal: { program, journal } }),
  });
}

/**
 * Without rollouts in fleet.yaml there is no ledger and no permission for one: a rollout in progress is only observed
 * to its end.
 */
function lazyRollout(
  { clusters, ...limits }: FleetRollouts,
  state: () => Promise<State>,
  { policies, clock }: Pick<HomeOptions, 'policies' | 'clock'>,
): NonNullable<MinuteOptions['rollout']> {
  return lazy(async () => {
    const [objects, { createRolloutLedger }, { createRolloutStage }] = await Promise.all([
      state(),
      import('./rollout-ledger.ts'),
      import('./stages/rollout.ts'),
    ]);
    const ledger = clusters.length === 0 ? undefined : createRolloutLedger({ objects, limits, clock });
    return createRolloutStage({ policies: clusters, approvals: policies, ledger, program, clock });
  });
}
