import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SnsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Schedule, ScheduleExpression, ScheduleTargetInput, TimeWindow } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { LambdaSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Duration, Stack, TimeZone } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { FleetMonitoring, HubOptions } from '../../lambdas/config/fleet.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import type { Topics } from '../monitoring/topics.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';

/** The default bus of the account and Region: users write rules on it for their own tools. */
const EVENT_BUS = 'default';

export interface NotifyProps {
  readonly monitoring: FleetMonitoring;
  readonly state: FleetState;
  readonly topics: Topics;
  /** Starts notify. */
  readonly scheduler: IRole;
  readonly architecture: HubOptions['architecture'];
  readonly key?: IKey | undefined;
}

/**
 * Turns every alarm into messages that an engineer can act on, looks every few minutes for what opened or closed since,
 * and sends a daily digest. An alarm that it cannot send after three tries goes to the critical topic unchanged: no
 * alarm is lost silently.
 */
export class Notify extends Construct {
  public readonly notify: HubFunction;

  constructor(scope: Construct, id: string, { monitoring, state, topics, scheduler, architecture, key }: NotifyProps) {
    super(scope, id);
    const { digest, reportLinks } = monitoring;
    this.notify = new HubFunction(this, 'Notify', {
      handlerFile: 'notify',
      description: 'Tells people which alarms fire and which are resolved, and what to do',
      timeout: Duration.seconds(HUB_SIZES.notify.timeoutSeconds),
      memorySize: HUB_SIZES.notify.memoryMiB,
      environment: {
        STATE_BUCKET: state.bucketName,
        CRITICAL_TOPIC_ARN: topics.critical.topicArn,
        WARNING_TOPIC_ARN: topics.warning.topicArn,
        PAGER_TOPIC_ARN: topics.pager.topicArn,
        CHAT_TOPIC_ARN: topics.chat.topicArn,
        REPORT_LINKS: String(reportLinks),
      },
      files: { 'monitoring.json': monitoring },
      // The second try comes after one minute, the third two minutes later.
      asynchronous: {
        retryAttempts: 2,
        maxEventAge: Duration.minutes(15),
        onFailure: new SnsDestination(topics.critical),
      },
      architecture,
      key,
    });
    const { role } = this.notify;
    const { registry, index, page, told } = STATE_KEYS;
    // A link to the report page works for what this role may read.
    state.allow(role, { read: [registry, index, page, told], write: [told] });
    topics.allowTelling(role);
    const bus = Stack.of(this).formatArn({ service: 'events', resource: 'event-bus', resourceName: EVENT_BUS });
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['events:PutEvents'],
        resources: [bus],
        // Only events of certmarshal's own source.
        conditions: { StringEquals: { 'events:source': 'certmarshal' } },
      }),
    );
    topics.alarms.addSubscription(new LambdaSubscription(this.notify, { deadLetterQueue: topics.deadLetters }));

    new Schedule(this, 'Look', {
      description: 'certmarshal: tells which alarms fire or are resolved when CloudWatch does not',
      schedule: ScheduleExpression.rate(Duration.seconds(HUB_SIZES.notify.looksEverySeconds)),
      timeWindow: TimeWindow.off(),
      target: new LambdaInvoke(this.notify, {
        input: ScheduleTargetInput.fromObject({ look: true }),
        role: scheduler,
        // The next one is soon.
        retryAttempts: 0,
        maxEventAge: Duration.minutes(1),
      }),
    });
    const [hour, minute] = digest.at.split(':').map(Number);
    new Schedule(this, 'Digest', {
      description: 'certmarshal: the state of the fleet, once a day',
      schedule: ScheduleExpression.cron({
        minute: String(minute),
        hour: String(hour),
        timeZone: TimeZone.of(digest.timeZone),
      }),
      timeWindow: TimeWindow.off(),
      target: new LambdaInvoke(this.notify, {
        input: ScheduleTargetInput.fromObject({ digest: true }),
        role: scheduler,
        retryAttempts: 2,
        maxEventAge: Duration.hours(1),
      }),
    });
  }
}
