import { Match, Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { SnsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Schedule, ScheduleExpression, ScheduleTargetInput, TimeWindow } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Duration, TimeZone } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { FleetMonitoring, HubOptions } from '../../lambdas/config/fleet.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { ALARM_PREFIX } from '../../lambdas/notify/alarm-name.ts';
import type { Topics } from '../monitoring/topics.ts';
import type { FleetState } from './fleet-state.ts';
import { HubFunction } from './hub-function.ts';

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
 * Turns every state change of an alarm into a message that an engineer can act on, and sends one message a day. A state
 * change that it cannot send after three tries goes to the critical topic unchanged: no alarm is lost silently.
 */
export class Notify extends Construct {
  public readonly notify: HubFunction;
  /** Hands state changes of alarms, and of single rows of alarms on a query, to notify. */
  public readonly alarmEvents: Rule;

  constructor(scope: Construct, id: string, { monitoring, state, topics, scheduler, architecture, key }: NotifyProps) {
    super(scope, id);
    const { daily, reportLinks } = monitoring;
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
    // A link to the report page works for what this role may read.
    state.allow(role, { read: [STATE_KEYS.index, STATE_KEYS.page], write: [] });
    topics.allowTelling(role);

    this.alarmEvents = new Rule(this, 'AlarmEvents', {
      description: 'certmarshal: hands state changes of its alarms to notify',
      eventPattern: {
        source: ['aws.cloudwatch'],
        detailType: ['CloudWatch Alarm State Change', 'CloudWatch Alarm Contributor State Change'],
        detail: { alarmName: Match.prefix(`${ALARM_PREFIX}-`) },
      },
      // For a day, by default.
      targets: [new LambdaFunction(this.notify)],
    });
    const [hour, minute] = daily.at.split(':').map(Number);
    new Schedule(this, 'Daily', {
      description: 'certmarshal: what is critical and warning, once a day',
      schedule: ScheduleExpression.cron({
        minute: String(minute),
        hour: String(hour),
        timeZone: TimeZone.of(daily.timeZone),
      }),
      timeWindow: TimeWindow.off(),
      target: new LambdaInvoke(this.notify, {
        input: ScheduleTargetInput.fromObject({ daily: true }),
        role: scheduler,
        retryAttempts: 2,
        maxEventAge: Duration.hours(1),
      }),
    });
  }
}
