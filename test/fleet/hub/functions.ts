import { randomUUID } from 'node:crypto';
import type { Metrics } from '@aws-lambda-powertools/metrics';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { createS3Snapshots } from '../../../lambdas/audit/s3-snapshots.ts';
import type { Snapshots } from '../../../lambdas/audit/snapshots.ts';
import { createInstanceReader } from '../../../lambdas/aws/ec2-instances.ts';
import { createEksAuditReader } from '../../../lambdas/aws/eks-audit.ts';
import { createEksReader } from '../../../lambdas/aws/eks-clusters.ts';
import { createTokenSigner } from '../../../lambdas/aws/eks-token.ts';
import { createJsonObjects } from '../../../lambdas/aws/json-objects.ts';
import { createSecretReader } from '../../../lambdas/aws/kubeconfig-secret.ts';
import { deleteMessages, receiveMessages, sendMessage, sendOrders } from '../../../lambdas/aws/queues.ts';
import { type CredentialsOf, createCredentials } from '../../../lambdas/aws/spoke-credentials.ts';
import { createMinute, type SweepCluster } from '../../../lambdas/cluster/minute.ts';
import { createRolloutLedger } from '../../../lambdas/cluster/rollout-ledger.ts';
import { type AuditStageOptions, createAuditStage } from '../../../lambdas/cluster/stages/audit.ts';
import { createRolloutStage, type RolloutStageOptions } from '../../../lambdas/cluster/stages/rollout.ts';
import { DEFAULT_LANE, type Fleet } from '../../../lambdas/config/fleet.ts';
import { discoverEks } from '../../../lambdas/fleet/discover.ts';
import { createCompleteOrder } from '../../../lambdas/fleet/fits-fleet.ts';
import { tickOf } from '../../../lambdas/fleet/tick.ts';
import { createDispatchTick } from '../../../lambdas/functions/dispatch-tick.ts';
import { createHintHandler } from '../../../lambdas/functions/handle-hint.ts';
import { createWebhookHandler, type WebhookAnswer } from '../../../lambdas/functions/handle-webhook.ts';
import { createReportTick } from '../../../lambdas/functions/report-tick.ts';
import { createSweepShard } from '../../../lambdas/functions/sweep-shard.ts';
import { createS3Journal } from '../../../lambdas/journal/s3-journal.ts';
import { recoverNodes } from '../../../lambdas/recovery/recover-nodes.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { awsClientConfig } from '../aws/aws-environment.ts';
import type { SimulatedAws } from '../aws/simulated-aws.ts';
import type { SimulatedQueue } from '../aws/sqs-queue.ts';
import type { Clock } from '../clock.ts';
import { isOnLoopback } from '../loopback.ts';
import { BUCKET, DISPATCH_ROLE, HUB, JOURNAL_BUCKET, SNAPSHOT_BUCKET, SWEEP_ROLE, WEBHOOK_KEY } from './places.ts';

export interface HubFunctionsOptions {
  readonly aws: SimulatedAws;
  readonly clock: Clock;
  readonly fleet: Fleet;
  readonly queues: HubQueues;
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
  /** Told the body of every message that report receives. @default nobody */
  readonly onOutcomes?: (body: string) => void;
  /** Told every token that the sweep signs. @default nobody */
  readonly onToken?: ((token: string) => void) | undefined;
}

export interface HubQueues {
  readonly orders: SimulatedQueue;
  readonly starts: SimulatedQueue;
  readonly outcomes: SimulatedQueue;
  readonly waiting: SimulatedQueue;
}

/** The functions without Lambda: their logic with real clients, wired as lambdas/functions does it. */
export interface HubFunctions {
  dispatch(): Promise<void>;
  sweep(event: SQSEvent): Promise<void>;
  report(event: SQSEvent): Promise<void>;
  hint(event: SQSEvent): Promise<void>;
  webhook(event: unknown): Promise<WebhookAnswer>;
}

/** New functions, as after a cold start: they know nothing of what earlier ones kept. */
export function createHubFunctions(options: HubFunctionsOptions): HubFunctions {
  const { aws, clock, fleet, queues, around = (sweepOne) => sweepOne } = options;
  const { onOutcomes = () => undefined, onToken = () => undefined } = options;
  const { audits = true, auditEngine, stepRollout, aroundSnapshots = (snapshots) => snapshots } = options;
  const now = (): number => clock.now();
  const { endpoint } = awsClientConfig(aws, HUB);
  const never = new AbortController().signal;
  const clientConfig = (role?: string) => awsClientConfig(aws, { account: HUB.account, region: HUB.region, role });
  const credentialsOf = (role: string): CredentialsOf =>
    createCredentials({ sessionName: 'certmarshal', sts: clientConfig(role) });

  const dispatchClients = clientConfig(DISPATCH_ROLE);
  const sweepClients = clientConfig(SWEEP_ROLE);
  const otherClients = clientConfig();
  const stateOf = (config: typeof dispatchClients) =>
    createJsonObjects({ client: new S3Client(config), bucket: BUCKET });
  const lanes = (sqs: SQSClient): Parameters<typeof createDispatchTick>[0]['send'] =>
    new Map(
      [DEFAULT_LANE, ...fleet.lanes.map(({ name }) => name)].map((lane) => [
        lane,
        async (messages, signal) => sendOrders(sqs, queues.orders.url, messages, signal),
      ]),
    );

  const dispatchSqs = new SQSClient(dispatchClients);
  const reader = createEksReader({ credentials: credentialsOf(DISPATCH_ROLE), config: { endpoint } });
  const dispatchMetrics = createMetrics('dispatch');
  const dispatchTick = createDispatchTick({
    fleet,
    hub: HUB,
    state: stateOf(dispatchClients),
    discover: (only, previous, signal) =>
      discoverEks(fleet.discovery, HUB, fleet.lanes, reader, signal, { only, previous }),
    send: lanes(dispatchSqs),
    sendStart: async (body, delay, signal) => sendMessage(dispatchSqs, queues.starts.url, body, delay, signal),
    sendOutcome: async (body, signal) => sendMessage(dispatchSqs, queues.outcomes.url, body, {}, signal),
    clock: now,
    logger: createLogger('dispatch'),
    metrics: dispatchMetrics,
  });

  const credentials = credentialsOf(SWEEP_ROLE);
  const signToken = createTokenSigner({ credentials: async () => sweepClients.credentials, now });
  const sweepReader = createEksReader({ credentials, config: { endpoint } });
  const sweepMetrics = createMetrics('sweep');
  const sweepSqs = new SQSClient(sweepClients);
  const audit = createAuditStage({
    snapshots: aroundSnapshots(createS3Snapshots({ client: new S3Client(sweepClients), bucket: SNAPSHOT_BUCKET })),
    thresholds: fleet.audit.thresholds,
    policies: fleet.policies,
    eksAudit: createEksAuditReader({ credentials, config: { endpoint } }),
    clock: now,
    engine: auditEngine,
  });
  const { clusters: rolloutPolicies, ...limits } = fleet.rollouts;
  const objects = stateOf(sweepClients);
  const rollout = createRolloutStage({
    policies: rolloutPolicies,
    approvals: fleet.policies,
    ledger: rolloutPolicies.length === 0 ? undefined : createRolloutLedger({ objects, limits, clock: now }),
    program: '0.0.0',
    clock: now,
    step: stepRollout,
  });
  const shardOptions = {
    sweepOne: around(
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
    ),
    send: async (body: string, signal: AbortSignal) => sendMessage(sweepSqs, queues.outcomes.url, body, {}, signal),
    wait: async (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
    clock: now,
    logger: createLogger('sweep'),
    metrics: sweepMetrics,
  };
  // One queue for all lanes: the group of a message says whose it is.
  const sweepShard = async (event: SQSEvent): Promise<void> => {
    const [group] = event.Records[0]?.attributes.MessageGroupId?.split('.') ?? [];
    const lane = fleet.lanes.find(({ name }) => name === group)?.name ?? DEFAULT_LANE;
    await createSweepShard({ ...shardOptions, complete: createCompleteOrder(fleet, HUB, lane) })(event, never, never);
  };

  const reportMetrics = createMetrics('report');
  const reportSqs = new SQSClient(otherClients);
  const reportTick = createReportTick({
    outcomes: {
      receive: async (signal) => {
        const messages = await receiveMessages(reportSqs, queues.outcomes.url, signal);
        for (const { body } of messages) onOutcomes(body);
        return messages;
      },
      remove: async (messages, signal) => deleteMessages(reportSqs, queues.outcomes.url, messages, signal),
    },
    state: stateOf(otherClients),
    clock: now,
    random: () => 0,
    wait: async () => undefined,
    logger: createLogger('report'),
    metrics: reportMetrics,
    monitoring: fleet.monitoring,
  });

  const hintSqs = new SQSClient(otherClients);
  const hintMetrics = createMetrics('hint');
  const handleHint = createHintHandler({
    state: stateOf(otherClients),
    policies: fleet.policies,
    fleet,
    hub: HUB,
    wait: async (body, delaySeconds, signal) =>
      sendMessage(hintSqs, queues.waiting.url, body, { delaySeconds }, signal),
    send: lanes(hintSqs),
    clock: now,
    logger: createLogger('hint'),
    metrics: hintMetrics,
  });

  const handleWebhook = createWebhookHandler({
    readKey: async () => WEBHOOK_KEY,
    salt: () => randomUUID(),
    wait: async (body, delaySeconds, signal) =>
      sendMessage(hintSqs, queues.waiting.url, body, { delaySeconds }, signal),
    clock: now,
  });

  return {
    async dispatch() {
      const tick = tickOf({ scheduledTime: new Date(now()).toISOString() }, now());
      await dispatchTick(tick, { discovery: never, all: never }).finally(() => publish(dispatchMetrics));
    },
    sweep: async (event) => sweepShard(event).finally(() => publish(sweepMetrics)),
    report: async (event) => reportTick(event, never).finally(() => publish(reportMetrics)),
    hint: async (event) => handleHint(event, never).finally(() => publish(hintMetrics)),
    webhook: async (event) => handleWebhook(event, never),
  };
}

/** As the middleware does; that warns where there is nothing to publish. */
function publish(metrics: Metrics): void {
  if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
}
