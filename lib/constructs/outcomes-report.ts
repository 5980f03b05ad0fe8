import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Duration, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { FleetMonitoring } from '../../lambdas/config/fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';
import { encryptedBy } from './queue-encryption.ts';

/** An outcome tells the whole state of its cluster; an older one is worth nothing any more. */
const RETENTION = Duration.seconds(HUB_SIZES.outcomes.retentionSeconds);
const REPORT_TIMEOUT = Duration.seconds(HUB_SIZES.report.timeoutSeconds);
/** Longer than the timeout, which Lambda demands, and the window of a batch that must start again. */
const VISIBILITY_TIMEOUT = Duration.seconds(HUB_SIZES.outcomes.visibilitySeconds);
/** The index is at most this old and the time that report takes; a smaller window makes more invocations, each writing the whole index. */
const BATCH_WINDOW = Duration.seconds(HUB_SIZES.report.windowSeconds);
/** Outcomes are a few kilobytes, and Lambda takes six megabytes. */
const BATCH_SIZE = HUB_SIZES.report.batch;
/** The least that an event source can have. Two writers are harmless, because every write of the index is conditional. */
const MAX_CONCURRENCY = 2;

export interface OutcomesReportProps {
  readonly state: FleetState;
  readonly monitoring: FleetMonitoring;
  readonly key?: IKey | undefined;
}

/** Fan-in: the queue of what became of every order, and report, which folds it into the fleet index. */
export class OutcomesReport extends Construct {
  public readonly outcomes: Queue;
  public readonly report: HubFunction;

  constructor(scope: Construct, id: string, { state, monitoring, key }: OutcomesReportProps) {
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
      description: 'Folds what became of the sweeps into the fleet index, and publishes what the fleet is like',
      timeout: REPORT_TIMEOUT,
      memorySize: HUB_SIZES.report.memoryMiB,
      environment: { STATE_BUCKET: state.bucketName },
      files: { 'monitoring.json': monitoring },
      key,
    });
    this.report.addEventSource(
      new SqsEventSource(this.outcomes, {
        batchSize: BATCH_SIZE,
        maxBatchingWindow: BATCH_WINDOW,
        maxConcurrency: MAX_CONCURRENCY,
      }),
    );
    state.allow(this.report.role, { read: ['registry', 'index', 'page'], write: ['index', 'page'] });
  }
}
