import packageJson from '../../package.json' with { type: 'json' };
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { Thresholds } from '../audit/rules/thresholds.ts';
import { isEksEndpoint } from '../aws/eks-endpoint.ts';
import { createTokenSigner } from '../aws/eks-token.ts';
import { createSecretReader } from '../aws/kubeconfig-secret.ts';
import { type CredentialsOf, createCredentials } from '../aws/spoke-credentials.ts';
import type { FleetRollouts } from '../config/fleet.ts';
import type { Rebuilt } from '../journal/s3-journal.ts';
import { withRetryBuffer } from '../journal/sweep-journal.ts';
import { lazy, once } from '../lazy.ts';
import { createMinute, type MinuteOptions, type SweepCluster } from './minute.ts';
import type { EksOfClusters } from './stages/rollout.ts';

export interface DeployedOptions {
  /** ARN of the role that signs the tokens, for remedies. */
  readonly principalArn: string;
  readonly policies: readonly ApprovalPolicy[];
  readonly thresholds: Thresholds;
  readonly rollouts: FleetRollouts;
  /** Names of the buckets. */
  readonly buckets: { readonly snapshots: string; readonly state: string; readonly journal: string };
  /** Told when a head of the journal had to be found again. */
  readonly onRebuilt: (rebuilt: Rebuilt) => void;
}

type Deployed<Part extends keyof MinuteOptions> = NonNullable<MinuteOptions[Part]>;

const clock = Date.now;
const program = packageJson.version;

/** The minute of a cluster as the sweep function has it. Most sweeps need little of this, and a new function must not wait for code to approve: the rest is loaded at its first use. */
export function createDeployedMinute(options: DeployedOptions): SweepCluster {
  const credentials = createCredentials({ sessionName: 'certmarshal-sweep' });
  const { principalArn, policies } = options;
  return createMinute({
    addresses: 'cluster',
    readSecret: createSecretReader(),
    signToken: createTokenSigner({}),
    isEksEndpoint,
    describeCluster: describerOf(credentials),
    listInstances: instancesOf(credentials),
    principalArn,
    policies,
    clock,
    // Hardly ever is a window open.
    recover: lazy(async () => (await import('./recoverer.ts')).createClusterRecoverer({ program, clock })),
    audit: auditOf(options, credentials),
    rollout: rolloutOf(options, credentials),
    journal: { program, journal: withRetryBuffer({ append: appenderOf(options) }) },
  });
}

/** Only a cluster that cannot be reached where it was is looked for in EKS. */
function describerOf(credentials: CredentialsOf): Deployed<'describeCluster'> {
  return lazy(async () => {
    const { createEksReader } = await import('../aws/eks-clusters.ts');
    const reader = createEksReader({ credentials });
    return async (...call) => reader.describeCluster(...call);
  });
}

/** EC2's schemas are as much code as all the rest of a sweep, and most sweeps find no open request. */
function instancesOf(credentials: CredentialsOf): Deployed<'listInstances'> {
  const reader = once(async () => (await import('../aws/ec2-instances.ts')).createInstanceReader({ credentials }));
  return async function* listInstances(scope, query, signal) {
    yield* (await reader())(scope, query, signal);
  };
}

/** Most sweeps decide nothing. */
function appenderOf({ buckets, onRebuilt }: DeployedOptions): Deployed<'journal'>['journal']['append'] {
  return lazy(async () => {
    const [{ S3Client }, { createS3Journal }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../journal/s3-journal.ts'),
    ]);
    const journal = createS3Journal({ client: new S3Client(), bucket: buckets.journal, onRebuilt });
    return async (...entries) => journal.append(...entries);
  });
}

function auditOf({ buckets, thresholds }: DeployedOptions, credentials: CredentialsOf): Deployed<'audit'> {
  return lazy(async () => {
    const [{ S3Client }, { createS3Snapshots }, { createAuditStage }, { createEksAuditReader }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../audit/s3-snapshots.ts'),
      import('./stages/audit.ts'),
      import('../aws/eks-audit.ts'),
    ]);
    return createAuditStage({
      snapshots: createS3Snapshots({ client: new S3Client(), bucket: buckets.snapshots }),
      thresholds,
      eksAudit: createEksAuditReader({ credentials }),
      clock,
    });
  });
}

/**
 * Where fleet.yaml lets nothing roll there is no ledger, nor a right to one: what goes on is looked at to its end. EKS is asked only where some node group may be
 * updated.
 */
function rolloutOf(
  { buckets, rollouts: { clusters, ...limits } }: DeployedOptions,
  credentials: CredentialsOf,
): Deployed<'rollout'> {
  return lazy(async () => {
    const [{ S3Client }, { createJsonObjects }, { createRolloutLedger }, { createRolloutStage }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('../aws/json-objects.ts'),
      import('./rollout-ledger.ts'),
      import('./stages/rollout.ts'),
    ]);
    const objects = createJsonObjects({ client: new S3Client(), bucket: buckets.state });
    return createRolloutStage({
      policies: clusters,
      ledger: clusters.length === 0 ? undefined : createRolloutLedger({ objects, limits, clock }),
      eks: clusters.some(({ nodeGroups }) => nodeGroups) ? await eksOf(credentials) : undefined,
      program,
      clock,
    });
  });
}

async function eksOf(credentials: CredentialsOf): Promise<EksOfClusters> {
  const [{ createEksAuditReader }, { createEksNodeGroups }] = await Promise.all([
    import('../aws/eks-audit.ts'),
    import('../aws/eks-nodegroups.ts'),
  ]);
  const readerOf = createEksAuditReader({ credentials });
  return {
    authorities: (scope, name) => async (signal) => readerOf(scope, name).authorities(signal),
    nodeGroups: createEksNodeGroups({ credentials }),
  };
}
