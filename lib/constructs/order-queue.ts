import type { IKey } from 'aws-cdk-lib/aws-kms';
import { DeduplicationScope, FifoThroughputLimit, Queue } from 'aws-cdk-lib/aws-sqs';
import { type Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { encryptedBy } from './queue-encryption.ts';

export interface OrderQueueProps {
  /** How long an order is kept. */
  readonly retentionPeriod: Duration;
  /** How long the clusters of a crashed sweep stay locked. */
  readonly visibilityTimeout: Duration;
  /** @default keys of Amazon SQS */
  readonly key?: IKey | undefined;
}

/**
 * Orders that wait for their sweep. The message group is the shard: at most one sweep of it at a time, and no shard waits
 * for another. SQS limits apply to each group, so that a large fleet is not slowed down.
 */
export class OrderQueue extends Queue {
  constructor(scope: Construct, id: string, { key, ...props }: OrderQueueProps) {
    super(scope, id, {
      fifo: true,
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      ...encryptedBy(key),
      enforceSSL: true,
      ...props,
    });
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'An order that was not carried out in time is dropped on purpose: the next tick brings it again, and an old one would only ' +
        'delay that. The age of the oldest sweep shows what is lost, and an alarm watches it.',
    });
  }
}
