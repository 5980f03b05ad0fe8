import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleTargetInput,
  TimeWindow,
} from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { CfnOutput, Duration, Stack, type StackProps, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { Fleet } from '../lambdas/config/fleet.ts';
import { targetsOf } from '../lambdas/fleet/target.ts';
import { METRIC } from '../lambdas/telemetry/metric-names.ts';
import { AlarmTopic } from './constructs/alarm-topic.ts';
import { HeartbeatAlarm } from './constructs/heartbeat-alarm.ts';
import { HubFunction } from './constructs/hub-function.ts';
import { TargetQueue } from './constructs/target-queue.ts';
import { allowReadingKubeconfigs } from './kubeconfig-access.ts';

/** How often every cluster is swept. */
const TICK = Duration.minutes(1);
/** A batch of sweeps ends within a tick, so that a slow cluster delays nobody's next sweep. */
const SWEEP_TIMEOUT = Duration.seconds(60);
/** Longer than the timeout, which Lambda demands; short enough that a crash silences a cluster for under two minutes. */
const VISIBILITY_TIMEOUT = Duration.seconds(90);
/** A tick that waited this long would only repeat the next one. */
const TARGET_RETENTION = Duration.seconds(120);
/** The most that Lambda takes from a FIFO queue at once. Sweeps wait for the network, so ten share a processor well. */
const BATCH_SIZE = 10;
/** Batches at once: with ten clusters a batch and a second a sweep, thousands of clusters a minute. */
const MAX_CONCURRENCY = 50;

export interface HubStackProps extends StackProps {
  /** Validated. */
  readonly fleet: Fleet;
}

/**
 * Everything that runs in the one account that watches the fleet: a schedule that starts dispatch every minute, a queue with one
 * message for each cluster, the sweep that takes them, and alarms that ring when either of the two stops.
 */
export class HubStack extends Stack {
  constructor(scope: Construct, id: string, { fleet, ...props }: HubStackProps) {
    super(scope, id, { description: 'certmarshal: approves kubelet serving certificates it can prove', ...props });
    showInDiff(this, fleet);

    const queue = new TargetQueue(this, 'Targets', {
      retentionPeriod: TARGET_RETENTION,
      visibilityTimeout: VISIBILITY_TIMEOUT,
    });
    const topic = new AlarmTopic(this, 'Alarms');

    const dispatch = new HubFunction(this, 'Dispatch', {
      handlerFile: 'dispatch',
      description: 'Every minute: one message for each cluster of the fleet',
      timeout: Duration.seconds(30),
      environment: { TARGET_QUEUE_URL: queue.queueUrl },
      files: { 'targets.json': targetsOf(fleet) },
    });
    queue.grantSendMessages(dispatch);
    new Schedule(this, 'Tick', {
      description: 'certmarshal: sweeps every cluster once a minute',
      schedule: ScheduleExpression.rate(TICK),
      timeWindow: TimeWindow.off(),
      target: new LambdaInvoke(dispatch, {
        input: ScheduleTargetInput.fromObject({ scheduledTime: ContextAttribute.scheduledTime }),
        retryAttempts: 0,
        maxEventAge: Duration.seconds(60),
      }),
    });

    Validations.of(this).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${this.resolve(dispatch.functionArn)['Fn::GetAtt'].join('.')}>:*]`,
      reason:
        'The CDK lets the schedule start dispatch in every version; there is but one, and nothing else is granted.',
    });

    const sweep = new HubFunction(this, 'Sweep', {
      handlerFile: 'sweep',
      description: 'Proves and approves the kubelet serving requests of up to ten clusters',
      timeout: SWEEP_TIMEOUT,
      memorySize: 1_024,
      files: { 'policies.json': fleet.policies },
    });
    sweep.addEventSource(
      new SqsEventSource(queue, {
        batchSize: BATCH_SIZE,
        maxConcurrency: MAX_CONCURRENCY,
        reportBatchItemFailures: true,
      }),
    );
    allowReadingKubeconfigs(this, sweep.role, fleet.clusters);

    new HeartbeatAlarm(this, 'DispatchHeartbeat', {
      service: 'dispatch',
      metricName: METRIC.dispatched,
      statistic: Stats.SUM,
      atLeast: fleet.clusters.length,
      description:
        'certmarshal: not every cluster is put up for sweeping each minute; kubelet serving certificates are no longer approved there. ' +
        `First: aws logs tail ${dispatch.logs.logGroupName} --since 15m. Runbook: docs/runbooks/heartbeat.md`,
      topic,
    });
    // Without clusters nothing is swept, and nobody is to be woken up for that.
    if (fleet.clusters.length > 0)
      new HeartbeatAlarm(this, 'SweepHeartbeat', {
        service: 'sweep',
        metricName: METRIC.duration,
        statistic: Stats.SAMPLE_COUNT,
        atLeast: 1,
        description:
          'certmarshal: no sweep of any cluster has ended; kubelet serving certificates are no longer approved anywhere. ' +
          `First: aws logs tail ${sweep.logs.logGroupName} --since 15m. Runbook: docs/runbooks/heartbeat.md`,
        topic,
      });

    new CfnOutput(this, 'AlarmTopicArn', { value: topic.topicArn, description: 'Subscribe the people on call to it' });
    new CfnOutput(this, 'TargetQueueUrl', {
      value: queue.queueUrl,
      description: 'Where dispatch puts up the clusters',
    });
    new CfnOutput(this, 'SweepRoleArn', {
      value: sweep.role.roleArn,
      description: 'Must be allowed to decrypt, where a secret is encrypted with a key of your own',
    });
  }
}

/**
 * The configuration travels beside the bundles, where a difference shows as a new hash only. In the metadata of the template, one
 * entry a field, `cdk diff` shows what changes: `Policy default, mode: "enforce" to "observe"`.
 */
function showInDiff(stack: Stack, { clusters, policies }: Fleet): void {
  for (const [kind, entries] of [
    ['Cluster', clusters],
    ['Policy', policies],
  ] as const)
    for (const { name, ...fields } of entries)
      for (const [field, value] of Object.entries(fields)) stack.addMetadata(`${kind} ${name}, ${field}`, value);
}
