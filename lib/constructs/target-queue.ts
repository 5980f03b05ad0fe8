import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { type Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

export interface TargetQueueProps {
  /** How long a tick is worth sweeping. */
  readonly retentionPeriod: Duration;
  /** How long the clusters of a sweep that crashed stay locked. */
  readonly visibilityTimeout: Duration;
}

/**
 * Targets that wait for their sweep. The message group is the cluster: at most one sweep of it at a time, and no cluster waits for
 * another. Limits count for each group, so that a large fleet is not slowed down.
 */
export class TargetQueue extends Queue {
  constructor(scope: Construct, id: string, props: TargetQueueProps) {
    super(scope, id, {
      fifo: true,
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      ...props,
    });
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'A target that was not swept in time is dropped on purpose: the next tick brings it again, and an old one would only ' +
        'delay that. The heartbeat alarms and the metric SweepsIncomplete show what is lost.',
    });
  }
}
