import { randomBytes } from 'node:crypto';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { Thresholds } from '../audit/rules/thresholds.ts';
import { isEksEndpoint } from '../aws/eks-endpoint.ts';
import { createTokenSigner } from '../aws/eks-token.ts';
import { createSecretReader } from '../aws/kubeconfig-secret.ts';
import { createCredentials } from '../aws/spoke-credentials.ts';
import type { FleetRollouts, RecoveryEntry } from '../config/fleet.ts';
import { lazy, once } from '../lazy.ts';
import { createMinute, type SweepCluster } from './minute.ts';

export interface DeployedOptions {
  /** ARN of the role that signs the tokens, for remedies. */
  readonly principalArn: string;
  readonly policies: readonly ApprovalPolicy[];
  readonly thresholds: Thresholds;
  readonly rollouts: FleetRollouts;
  readonly recovery: readonly RecoveryEntry[];
  readonly buckets: { readonly snapshots: string; readonly state: string; readonly journal: string };
}

const clock = Date.now;
const program = packageJson.version;
const random = (): string => randomBytes(8).toString('hex');

/**
 * The minute of a cluster in the sweep function. Most sweeps need little code, and a cold start must not delay
 * approvals: the rest is loaded at first use.
 */
export function createDeployedMinute(options: DeployedOptions): SweepCluster {
  const { buckets, policies, principalArn, recovery, thresholds } = options;
  const { clusters, ...limits } = options.rollouts;
  const credentials = createCredentials({ sessionName: 'certmarshal-sweep' });
  const s3 = once(async () => new (await import('@aws-sdk/client-s3')).S3Client());
  const instances = once(async () => (await import('../aws/ec2-instances.ts')).createInstanceReader({ credentials }));
  const eksAudit = once(async () => (await import('../aws/eks-audit.ts')).createEksAuditReader({ credentials }));
  return createMinute({
    addresses: 'cluster',
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
    principalArn,
    policies,
    clock,
    recovery: {
      entries: recovery,
      recoverNodes: lazy(async () => (await import('../recovery/recover-nodes.ts')).recoverNodes),
    },
    audit: lazy(async () => {
      const [client, eks, { createS3Snapshots }, { createAuditStage }] = await Promise.all([
        s3(),
        eksAudit(),
        import('../audit/s3-snapshots.ts'),
        import('./stages/audit.ts'),
      ]);
      const snapshots = createS3Snapshots({ client, bucket: buckets.snapshots });
      return createAuditStage({ snapshots, thresholds, policies, eksAudit: eks, clock });
    }),
    // Without rollouts in fleet.yaml there is no ledger and no permission for one: a rollout in progress is only
    // observed to its end.
    rollout: lazy(async () => {
      const [client, { createS3State }, { createRolloutLedger }, { createRolloutStage }] = await Promise.all([
        s3(),
        import('../aws/s3-state.ts'),
        import('./rollout-ledger.ts'),
        import('./stages/rollout.ts'),
      ]);
      const objects = createS3State({ client, bucket: buckets.state });
      const ledger = clusters.length === 0 ? undefined : createRolloutLedger({ objects, limits, clock });
      return createRolloutStage({ policies: clusters, approvals: policies, ledger, program, clock });
    }),
    journal: {
      program,
      journal: {
        append: lazy(async () => {
          const [client, { createS3Journal }] = await Promise.all([s3(), import('../journal/s3-journal.ts')]);
          const journal = createS3Journal({ client, bucket: buckets.journal, random });
          return async (...entries) => journal.append(...entries);
        }),
      },
    },
  });
}
