import { randomUUID } from 'node:crypto';
import type { Metrics } from '@aws-lambda-powertools/metrics';
import { S3Client } from '@aws-sdk/client-s3';
import type { Snapshots } from '../../../lambdas/audit/snapshots.ts';
import { createSnapshots } from '../../../lambdas/audit/snapshots.ts';
import { createInstanceReader } from '../../../lambdas/aws/ec2-instances.ts';
import { createEksAuditReader } from '../../../lambdas/aws/eks-audit.ts';
import { createEksReader } from '../../../lambdas/aws/eks-clusters.ts';
import { createTokenSigner } from '../../../lambdas/aws/eks-token.ts';
import { createSecretReader } from '../../../lambdas/aws/kubeconfig-secret.ts';
import { createS3State } from '../../../lambdas/aws/s3-state.ts';
import { type CredentialsOf, createCredentials } from '../../../lambdas/aws/spoke-credentials.ts';
import { createMinute, type SweepCluster } from '../../../lambdas/cluster/minute.ts';
import { createRolloutLedger } from '../../../lambdas/cluster/rollout-ledger.ts';
import { type AuditStageOptions, createAuditStage } from '../../../lambdas/cluster/stages/audit.ts';
import { createRolloutStage, type RolloutStageOptions } from '../../../lambdas/cluster/stages/rollout.ts';
import { createSweep } from '../../../lambdas/cluster/sweep.ts';
import { DEFAULT_LANE, type Fleet } from '../../../lambdas/config/fleet.ts';
import type { SweepItem } from '../../../lambdas/contracts/order.ts';
import { discoverEks } from '../../../lambdas/fleet/discover.ts';
import { createCompleteOrder, createTargetsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { createPlan } from '../../../lambdas/fleet/plan.ts';
import { createReport, type TickResult } from '../../../lambdas/fleet/report.ts';
import { eksSources, sourcesOf } from '../../../lambdas/fleet/sources.ts';
import { createS3Journal } from '../../../lambdas/journal/s3-journal.ts';
import { recoverNodes } from '../../../lambdas/recovery/recover-nodes.ts';
import type { State } from '../../../lambdas/state.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { awsClientConfig } from '../aws/aws-environment.ts';
import type { SimulatedAws } from '../aws/simulated-aws.ts';
import type { Clock } from '../clock.ts';
import { isOnLoopback } from '../loopback.ts';
import { DISPATCH_ROLE, HUB, JOURNAL_BUCKET, SNAPSHOT_BUCKET, SWEEP_ROLE } from './places.ts';

export type FunctionName = 'plan' | 'sweep' | 'report';

export interface HubFunctionsOptions {
  readonly aws: SimulatedAws;
  readonly clock: Clock;
  readonly fleet: Fleet;
  /** As the role of a function reaches it. */
  readonly stateOf: (role: string) => State;
  /** How far the clock of a function is ahead. Milliseconds. @default 0 */
  readonly aheadMs?: Partial<Readonly<Record<FunctionName, number>>>;
  /** Stands around every sweep, to see when it begins and ends. @default nobody */
  readonly around?: (sweepOne: SweepCluster) => SweepCluster;
  /** False where nothing is audited. @default true */
  readonly audits?: boolean;
  /** What audits. @default what is deployed */
  readonly auditEngine?: AuditStageOptions['engine'];
  /** Makes a step of a rollout. @default what is deployed */
  readonly stepRollout?: RolloutStageOptions['step'];
  /** Stands around the bucket of the snapshots. @default nobody */
  readonly aroundSnapshots?: (snapshots: Snapshots) => Snapshots;
  /** Receives every token that the sweep signs. @default nobody */
  readonly onToken?: ((token: string) => void) | undefined;
}

/** The functions without Lambda: their logic with real clients, wired as lambdas/functions does it. */
export interface HubFunctions {
  plan(tick: number): Promise<readonly SweepItem[]>;
  sweep(item: SweepItem): Promise<void>;
  report(result: TickResult): Promise<void>;
  /** What the webhook of a cluster starts. */
  webhook(id: string): Promise<void>;
}

/** New functions, as after a cold start. */
export function createHubFunctions(options: HubFunctionsOptions): HubFunctions {
  const { aws, clock, fleet, stateOf, aheadMs = {}, around = (sweepOne) => sweepOne } = options;
  const { onToken = () => undefined, audits = true, auditEngine, stepRollout } = options;
  const { aroundSnapshots = (snapshots) => snapshots } = options;
  const clockOf = (name: FunctionName) => (): number => clock.now() + (aheadMs[name] ?? 0);
  const { endpoint } = awsClientConfig(aws, HUB);
  const never = new AbortController().signal;
  const credentialsOf = (role: string): CredentialsOf =>
    createCredentials({ sessionName: 'certmarshal', sts: awsClientConfig(aws, { ...HUB, role }) });
  const lanes = [DEFAULT_LANE, ...fleet.lanes.map(({ name }) => name)];
  const targetsOf = createTargetsOf(fleet, HUB);

  const planMetrics = createMetrics('plan');
  const plan = createPlan({
    fleet,
    targetsOf,
    state: stateOf(DISPATCH_ROLE),
    functions: new Map(lanes.map((lane) => [lane, `sweep-${lane}`])),
    clock: clockOf('plan'),
    logger: createLogger('plan'),
    metrics: planMetrics,
  });

  const now = clockOf('sweep');
  const sweepClients = awsClientConfig(aws, { ...HUB, role: SWEEP_ROLE });
  const credentials = credentialsOf(SWEEP_ROLE);
  const signToken = createTokenSigner({ credentials: async () => sweepClients.credentials, now });
  const sweepReader = createEksReader({ credentials, config: { endpoint } });
  const sweepMetrics = createMetrics('sweep');
  const audit = createAuditStage({
    snapshots: aroundSnapshots(
      createSnapshots(createS3State({ client: new S3Client(sweepClients), bucket: SNAPSHOT_BUCKET })),
    ),
    ...fleet.audit,
    policies: fleet.policies,
    eksAudit: createEksAuditReader({ credentials, config: { endpoint } }),
    clock: now,
    engine: auditEngine,
  });
  const { clusters: rolloutPolicies, ...limits } = fleet.rollouts;
  const objects = stateOf(SWEEP_ROLE);
  const rollout = createRolloutStage({
    policies: rolloutPolicies,
    approvals: fleet.policies,
    ledger: rolloutPolicies.length === 0 ? undefined : createRolloutLedger({ objects, limits, clock: now }),
    program: '0.0.0',
    clock: now,
    step: stepRollout,
  });
  const sweepOne = around(
    createMinute({
      // Its clusters are on this machine.
      addresses: 'local',
      readSecret: createSecretReader({ endpoint, credentials: sweepClients.credentials }),
      signToken: async (id, region) => {
        const token = await signToken(id, region);
        onToken(token);
        return token;
      },
      isEksEndpoint: isOnLoopback,
      describeCluster: async (...call) => sweepReader.describeCluster(...call),
      listInstances: createInstanceReader({ credentials, config: { endpoint } }),
      principalArn: SWEEP_ROLE,
      policies: fleet.policies,
      clock: now,
      audit: audits ? audit : undefined,
      rollout,
      recovery: { entries: fleet.recovery, recoverNodes },
      journal: {
        program: '0.0.0',
        journal: createS3Journal({ client: new S3Client(sweepClients), bucket: JOURNAL_BUCKET, random: randomUUID }),
      },
    }),
  );
  const sweeps = new Map(
    lanes.map((lane) => [
      lane,
      createSweep({
        lane,
        complete: createCompleteOrder(fleet, targetsOf, lane),
        sweepOne,
        state: objects,
        clock: now,
        logger: createLogger('sweep'),
        metrics: sweepMetrics,
      }),
    ]),
  );

  const reportMetrics = createMetrics('report');
  const reader = createEksReader({ credentials: credentialsOf(DISPATCH_ROLE), config: { endpoint } });
  const report = createReport({
    fleet,
    targetsOf,
    lanes,
    monitoring: { ...fleet.monitoring, auditEveryMinutes: fleet.audit.everyMinutes },
    state: stateOf(DISPATCH_ROLE),
    sources: sourcesOf(fleet, HUB),
    askedSources: eksSources(fleet.discovery, HUB).map(({ name }) => name),
    discover: (only, previous, signal) =>
      discoverEks(fleet.discovery, HUB, fleet.lanes, reader, signal, { only, previous }),
    publish: async () => undefined,
    clock: clockOf('report'),
    logger: createLogger('report'),
    metrics: reportMetrics,
  });

  return {
    plan: async (tick) => plan(tick, never).finally(() => publish(planMetrics)),
    sweep: async (item) =>
      sweeps
        .get(item.lane)
        ?.shard(item, never, never)
        .finally(() => publish(sweepMetrics)),
    report: async (result) => report(result, { discovery: never, all: never }).finally(() => publish(reportMetrics)),
    async webhook(id) {
      await Promise.all([...sweeps.values()].map(async (sweep) => sweep.cluster(id, never)));
      publish(sweepMetrics);
    },
  };
}

/** As the middleware does; that warns where there is nothing to publish. */
function publish(metrics: Metrics): void {
  if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
}
