import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import { fleetOfTargets } from '../../lambdas/fleet/fits-fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';
import type { SweepLane } from './lane.ts';
import { onlyBy } from './only-by.ts';
import { encryptedBy } from './queue-encryption.ts';
import { Webhook } from './webhook.ts';

export interface HintsProps {
  readonly fleet: Fleet;
  readonly lanes: readonly SweepLane[];
  /** JSON: URL of the queue of orders by name of the lane. */
  readonly laneQueues: string;
  readonly state: FleetState;
  readonly key?: IKey | undefined;
}

/**
 * Sweeps between two ticks, when the API server of a cluster calls: `hub.webhook`.
 */
export class Hints extends Construct {
  public readonly hint: HubFunction;
  /** The URL for hints of clusters. */
  public readonly webhook: HubFunction;

  constructor(scope: Construct, id: string, { fleet, lanes, laneQueues, state, key }: HintsProps) {
    super(scope, id);
    const { account, partition } = Stack.of(this);
    // A standard queue: FIFO queues have no delay for each message. The queue of the lane deduplicates.
    const waiting = new Queue(this, 'Waiting', {
      ...encryptedBy(key),
      enforceSSL: true,
      // The longest delay of a message is 15 minutes.
      retentionPeriod: Duration.minutes(20),
      visibilityTimeout: Duration.seconds(60),
    });
    Validations.of(waiting).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'A hint that is lost costs at most the time to the next tick.',
    });
    const hint = new HubFunction(this, 'Hint', {
      handlerFile: 'hint',
      description: 'Orders a sweep when the API server of a cluster reports a new request',
      timeout: Duration.seconds(HUB_SIZES.hint.timeoutSeconds),
      memorySize: HUB_SIZES.hint.memoryMiB,
      environment: {
        STATE_BUCKET: state.bucketName,
        LANE_QUEUE_URLS: laneQueues,
        WAITING_QUEUE_URL: waiting.queueUrl,
        HUB_ACCOUNT: account,
        HUB_PARTITION: partition,
      },
      files: { 'policies.json': fleet.policies, 'fleet.json': fleetOfTargets(fleet) },
      architecture: fleet.hub.architecture,
      key,
    });
    this.hint = hint;
    state.allow(hint.role, { read: ['registry', 'index'], write: [] });
    waiting.grantSendMessages(hint);
    for (const { orders } of lanes) orders.grantSendMessages(hint);
    hint.addEventSource(new SqsEventSource(waiting, { batchSize: 10, maxConcurrency: 2 }));
    this.webhook = new Webhook(this, 'Webhook', { waiting, architecture: fleet.hub.architecture, key }).webhook;
    // A message says when it is due: others could order more sweeps than a hint may.
    waiting.addToResourcePolicy(
      onlyBy([hint.role, this.webhook.role], { actions: ['sqs:SendMessage'], resources: [waiting.queueArn] }),
    );
  }
}
