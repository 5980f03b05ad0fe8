import { setTimeout as delay } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { createInstanceReader } from '../../lambdas/aws/ec2-instances.ts';
import { createEksReader } from '../../lambdas/aws/eks-clusters.ts';
import { createTokenSigner } from '../../lambdas/aws/eks-token.ts';
import { createSecretReader } from '../../lambdas/aws/kubeconfig-secret.ts';
import { createS3State } from '../../lambdas/aws/s3-state.ts';
import { createCredentials } from '../../lambdas/aws/spoke-credentials.ts';
import { createMinute } from '../../lambdas/cluster/minute.ts';
import { createSweep } from '../../lambdas/cluster/sweep.ts';
import { DEFAULT_LANE, type Fleet } from '../../lambdas/config/fleet.ts';
import { discoverEks } from '../../lambdas/fleet/discover.ts';
import { createCompleteOrder, createTargetsOf } from '../../lambdas/fleet/fits-fleet.ts';
import { createPlan } from '../../lambdas/fleet/plan.ts';
import { createReport } from '../../lambdas/fleet/report.ts';
import { eksSources, sourcesOf } from '../../lambdas/fleet/sources.ts';
import { tickAt } from '../../lambdas/fleet/tick.ts';
import { createTelemetry } from '../../lambdas/telemetry/telemetry.ts';
import { awsClientConfig } from '../fleet/aws/aws-environment.ts';
import type { SimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { BUCKET, DISPATCH_ROLE, HUB, SWEEP_ROLE } from '../fleet/hub/places.ts';
import { isOnLoopback } from '../fleet/loopback.ts';

/** Plan, sweep and report with real clients in one process, without audits. */
export interface LatencyHub {
  /** What the state machine does each minute. */
  tick(): Promise<void>;
  /** What the webhook starts. */
  sweep(cluster: string): Promise<void>;
}

export function startLatencyHub(aws: SimulatedAws, fleet: Fleet): LatencyHub {
  // What the functions say would be between the figures.
  Object.assign(process.env, { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' });
  aws.s3.createBucket(HUB, BUCKET);
  const never = new AbortController().signal;
  const clock = Date.now;
  const configOf = (role: string) => awsClientConfig(aws, { account: HUB.account, region: HUB.region, role });
  const stateOf = (role: string) => createS3State({ client: new S3Client(configOf(role)), bucket: BUCKET });
  const { endpoint } = configOf(SWEEP_ROLE);
  const readerOf = (role: string) => {
    const credentials = createCredentials({ sessionName: 'certmarshal', sts: configOf(role) });
    return { credentials, eks: createEksReader({ credentials, config: { endpoint } }) };
  };
  const targetsOf = createTargetsOf(fleet, HUB);
  const state = stateOf(DISPATCH_ROLE);
  const plan = createPlan({
    fleet,
    targetsOf,
    state,
    functions: new Map([[DEFAULT_LANE, 'Sweep']]),
    clock,
    ...createTelemetry('plan'),
  });
  const { eks } = readerOf(DISPATCH_ROLE);
  const report = createReport({
    fleet,
    targetsOf,
    lanes: [DEFAULT_LANE],
    monitoring: fleet.monitoring,
    state,
    sources: sourcesOf(fleet, HUB),
    askedSources: eksSources(fleet.discovery, HUB).map(({ name }) => name),
    discover: (only, previous, signal) =>
      discoverEks(fleet.discovery, HUB, fleet.lanes, eks, signal, { only, previous }),
    publish: async () => undefined,
    clock,
    ...createTelemetry('report'),
  });
  const { credentials, eks: sweepEks } = readerOf(SWEEP_ROLE);
  const sweepConfig = configOf(SWEEP_ROLE);
  const sweep = createSweep({
    lane: DEFAULT_LANE,
    complete: createCompleteOrder(fleet, targetsOf, DEFAULT_LANE),
    sweepOne: createMinute({
      // Its clusters are on this machine.
      addresses: 'local',
      readSecret: createSecretReader({ endpoint, credentials: sweepConfig.credentials }),
      signToken: createTokenSigner({ credentials: async () => sweepConfig.credentials, now: clock }),
      isEksEndpoint: isOnLoopback,
      describeCluster: async (...call) => sweepEks.describeCluster(...call),
      listInstances: createInstanceReader({ credentials, config: { endpoint } }),
      policies: fleet.policies,
      clock,
    }),
    state: stateOf(SWEEP_ROLE),
    wait: async (ms, signal) => delay(ms, undefined, { signal }),
    clock,
    ...createTelemetry('sweep'),
  });
  return {
    async tick() {
      const tick = tickAt(clock(), clock());
      const shards = await plan(tick, never);
      const outcomes = shards.map(async (item) => sweep.shard(item, never, never).then(() => ({ error: undefined })));
      await report({ tick, shards, outcomes: await Promise.all(outcomes) }, { discovery: never, all: never });
    },
    sweep: async (cluster) => sweep.cluster(cluster, never),
  };
}
