import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Duration, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Fleet, Lane } from '../../lambdas/config/fleet.ts';
import { fleetOfTargets } from '../../lambdas/fleet/fits-fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { AuditHistory } from './audit-history.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';
import type { JournalBucket } from './journal-bucket.ts';
import { OrderQueue } from './order-queue.ts';

/** The sweeps of a shard end within a tick, so that a slow cluster delays no next sweep. */
const SWEEP_TIMEOUT = Duration.seconds(HUB_SIZES.sweep.timeoutSeconds);
/** Longer than the timeout, as Lambda requires. The message of a crashed invocation returns then, and is dropped. */
const VISIBILITY_TIMEOUT = Duration.seconds(HUB_SIZES.orders.visibilitySeconds);
/** An older tick would only repeat the next one. */
const ORDER_RETENTION = Duration.seconds(HUB_SIZES.orders.retentionSeconds);
/** One message for each invocation: the cost does not depend on the number of messages that a poller finds. */
const BATCH_SIZE = 1;
/** Concurrent shards: with 32 clusters a shard and some seconds a sweep, ten thousand clusters a minute. */
const MAX_CONCURRENCY = HUB_SIZES.sweep.maxConcurrency;

export interface SweepLaneProps {
  readonly name: string;
  /** @default outside a VPC */
  readonly network?: Omit<Lane, 'name'>;
  /** One role for all lanes, which the clusters trust. */
  readonly role: IRole;
  readonly fleet: Fleet;
  readonly outcomes: IQueue;
  /** Bucket with the ledger of rollouts. */
  readonly state: FleetState;
  readonly history: AuditHistory;
  readonly journal: JournalBucket;
  readonly key?: IKey | undefined;
  /** Environment of the sweep function. @default none */
  readonly reservedConcurrency?: number | undefined;
}

/** A network from which clusters are swept: a queue of orders and the function that executes them. */
export class SweepLane extends Construct {
  public readonly laneName: string;
  public readonly orders: OrderQueue;
  public readonly sweep: HubFunction;

  constructor(scope: Construct, id: string, props: SweepLaneProps) {
    super(scope, id);
    const { name, network, role, key, reservedConcurrency } = props;
    const { policies, audit, rollouts } = props.fleet;
    const { account, partition } = Stack.of(this);
    this.laneName = name;
    // A new id, not that of the queue with orders of single clusters: an older sweep must never see a shard.
    this.orders = new OrderQueue(this, 'Shards', {
      retentionPeriod: ORDER_RETENTION,
      visibilityTimeout: VISIBILITY_TIMEOUT,
      key,
    });
    this.sweep = new HubFunction(this, 'Sweep', {
      handlerFile: 'sweep',
      description: `Approves what it can prove and audits certificates, in the clusters of a shard; lane ${name}`,
      timeout: SWEEP_TIMEOUT,
      memorySize: HUB_SIZES.sweep.memoryMiB,
      environment: {
        OUTCOMES_QUEUE_URL: props.outcomes.queueUrl,
        SWEEP_ROLE_ARN: role.roleArn,
        SNAPSHOT_BUCKET: props.history.bucketName,
        JOURNAL_BUCKET: props.journal.bucketName,
        STATE_BUCKET: props.state.bucketName,
        LANE: name,
        HUB_ACCOUNT: account,
        HUB_PARTITION: partition,
        // A look-up of a name that no server answers holds a thread; four is the default.
        UV_THREADPOOL_SIZE: '64',
      },
      files: {
        'policies.json': policies,
        'audit.json': audit.thresholds,
        'rollouts.json': rollouts,
        // For checking orders.
        'fleet.json': fleetOfTargets(props.fleet),
      },
      role,
      architecture: props.fleet.hub.architecture,
      key,
      reservedConcurrentExecutions: reservedConcurrency,
    });
    if (network !== undefined) attach(this.sweep, network);
    this.sweep.addEventSource(
      new SqsEventSource(this.orders, {
        batchSize: BATCH_SIZE,
        // More would only be throttled.
        maxConcurrency: Math.max(2, Math.min(MAX_CONCURRENCY, reservedConcurrency ?? MAX_CONCURRENCY)),
      }),
    );
  }
}

/** By ids: `IVpc` needs availability zones, which only a lookup in the account knows. */
function attach(sweep: HubFunction, { subnetIds, securityGroupIds }: Omit<Lane, 'name'>): void {
  const { defaultChild } = sweep.node;
  if (!CfnFunction.isCfnFunction(defaultChild)) throw new Error('a function without its resource');
  defaultChild.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };
}
