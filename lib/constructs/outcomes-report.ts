import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Duration, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { FleetMonitoring, HubOptions } from '../../lambdas/config/fleet.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';
import { encryptedBy } from './queue-encryption.ts';

export interface OutcomesReportProps {
  readonly state: FleetState;
  readonly monitoring: FleetMonitoring;
  readonly architecture: HubOptions['architecture'];
  readonly key?: IKey | undefined;
}

/** Fan-in: the queue of outcomes, and report, which folds them into the fleet index when dispatch starts it. */
export class OutcomesReport extends Construct {
  public readonly outcomes: Queue;
  /** A standard queue: FIFO queues have no delay for each message. */
  public readonly starts: Queue;
  public readonly report: HubFunction;

  constructor(scope: Construct, id: string, { state, monitoring, architecture, key }: OutcomesReportProps) {
    super(scope, id);
    const { outcomes, starts, report } = HUB_SIZES;
    const queue = (name: string, sizes: { retentionSeconds: number; visibilitySeconds: number }, reason: string) => {
      const made = new Queue(this, name, {
        ...encryptedBy(key),
        enforceSSL: true,
        retentionPeriod: Duration.seconds(sizes.retentionSeconds),
        visibilityTimeout: Duration.seconds(sizes.visibilitySeconds),
      });
      Validations.of(made).acknowledge({ id: 'AwsSolutions-SQS3', reason });
      return made;
    };
    this.outcomes = queue(
      'Queue',
      outcomes,
      'The next sweep of the cluster sends its whole state again within a minute; the alarms on report and on the oldest sweep fire when that stops.',
    );
    this.starts = queue(
      'Starts',
      starts,
      'The next tick starts report again within a minute; the alarm on report fires when that stops.',
    );
    this.report = new HubFunction(this, 'Report', {
      handlerFile: 'report',
      description: 'Folds the outcomes of the sweeps into the fleet index, and publishes the metrics of the fleet',
      timeout: Duration.seconds(report.timeoutSeconds),
      memorySize: report.memoryMiB,
      environment: { STATE_BUCKET: state.bucketName, OUTCOMES_QUEUE_URL: this.outcomes.queueUrl },
      files: { 'monitoring.json': monitoring },
      architecture,
      key,
    });
    // Two at once are harmless, because every write of the index is conditional. A maximum would only make Lambda poll more.
    this.report.addEventSource(new SqsEventSource(this.starts, { batchSize: report.batch }));
    this.report.role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage'],
        resources: [this.outcomes.queueArn],
      }),
    );
    // With that it also decrypts what it receives.
    state.allow(this.report.role, { read: ['registry', 'index', 'page'], write: ['index', 'page'] });
  }
}
