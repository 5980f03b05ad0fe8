import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Duration, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';
import { encryptedBy } from './queue-encryption.ts';

/** An outcome tells the whole state of its cluster; an older one is worth nothing any more. */
const RETENTION = Duration.minutes(15);
const REPORT_TIMEOUT = Duration.seconds(30);
/** Longer than the timeout, which Lambda demands, and the window of a batch that must start again. */
const VISIBILITY_TIMEOUT = Duration.seconds(90);
/** The index is at most this old and the time that report takes; a smaller window makes more invocations, each writing the whole index. */
const BATCH_WINDOW = Duration.seconds(20);
/** Outcomes are a few kilobytes, and Lambda takes six megabytes. */
const BATCH_SIZE = 1_000;
/** The least that an event source can have. Two writers are harmless, because every write of the index is conditional. */
const MAX_CONCURRENCY = 2;

/** Fan-in: the queue of what became of every order, and report, which folds it into the fleet index. */
export class OutcomesReport extends Construct {
  public readonly outcomes: Queue;
  public readonly report: HubFunction;

  constructor(
    scope: Construct,
    id: string,
    { state, key }: { readonly state: FleetState; readonly key?: IKey | undefined },
  ) {
    super(scope, id);
    this.outcomes = new Queue(this, 'Queue', {
      ...encryptedBy(key),
      enforceSSL: true,
      retentionPeriod: RETENTION,
      visibilityTimeout: VISIBILITY_TIMEOUT,
    });
    Validations.of(this.outcomes).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'The next sweep of the cluster sends its whole state again within a minute; the alarms on report and on the oldest sweep ring when that stops.',
    });
    this.report = new HubFunction(this, 'Report', {
      handlerFile: 'report',
      description: 'Folds what became of the sweeps into the fleet index',
      timeout: REPORT_TIMEOUT,
      memorySize: 512,
      environment: { STATE_BUCKET: state.bucketName },
      key,
    });
    this.report.addEventSource(
      new SqsEventSource(this.outcomes, {
        batchSize: BATCH_SIZE,
        maxBatchingWindow: BATCH_WINDOW,
        maxConcurrency: MAX_CONCURRENCY,
      }),
    );
    state.allow(this.report.role, { read: ['registry', 'index'], write: ['index'] });
  }
}
