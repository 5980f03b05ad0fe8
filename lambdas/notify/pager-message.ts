import type { AlarmEvent } from '../contracts/event.ts';
import { watchedSignal } from '../health/culprits.ts';
import { ALARMS, type AlarmEntry } from '../tables/alarms.ts';
import { SIGNALS } from '../tables/signals.ts';
import { alarmName } from './alarm-name.ts';
import type { Incident } from './incident.ts';

/** Of a topic: `arn:PARTITION:sns:REGION:ACCOUNT:NAME`. */
export interface TopicPlace {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

/** Source: CloudWatch API Reference, PutMetricAlarm, AlarmDescription; SetAlarmState, StateReason. Characters. */
const LONGEST = { description: 1_024, reason: 1_023 } as const;

/** @throws Error for a malformed ARN */
export function topicPlace(arn: string): TopicPlace {
  const [, partition, , region, account] = arn.split(':');
  if (partition === undefined || region === undefined || account === undefined)
    throw new Error('the ARN of a topic is wanted');
  return { partition, region, account };
}

/**
 * An incident in the shape in which CloudWatch publishes an alarm on one metric: PagerDuty and Jira Service Management
 * read that. It opens as ALARM and closes as OK, under one AlarmName. PagerDuty drops a message without a Trigger.
 * Pure.
 *
 * Source of the shape: aws/aws-lambda-go, events/testdata/cloudwatch-alarm-sns-payload-single-metric.json. Of the
 * Trigger: PagerDuty/terraform-provider-pagerduty issue 667 (incidents have the key AlarmName), panther-labs/panther
 * pull request 1311 (composite alarms, which have none, open nothing).
 *
 * @param link to the report page
 */
// oxlint-disable-next-line max-params -- one call
export function pagerMessage(
  event: AlarmEvent,
  { key, title, facts, commands, runbook }: Incident,
  { partition, region, account }: TopicPlace,
  link: string | undefined,
) {
  const { alarm, severity, state, at, cluster, part } = event;
  const { watches, threshold, datapoints }: AlarmEntry = ALARMS[alarm];
  const signal = watchedSignal(alarm);
  const opens = state === 'opened';
  return {
    AlarmName: key,
    AlarmDescription: cut([title, ...facts, ...commands, runbook].join('\n'), LONGEST.description),
    AWSAccountId: account,
    NewStateValue: opens ? 'ALARM' : 'OK',
    // The link is never cut: half a link opens nothing.
    NewStateReason: `${cut(title, LONGEST.reason)}${link === undefined ? '' : `\nReport: ${link}`}`,
    StateChangeTime: at.replace('Z', '+0000'),
    Region: region,
    AlarmArn: `arn:${partition}:cloudwatch:${region}:${account}:alarm:${nameOf(event)}`,
    OldStateValue: opens ? 'OK' : 'ALARM',
    Trigger: {
      MetricName: signal ?? alarm,
      Namespace: 'certmarshal',
      StatisticType: 'Statistic',
      Statistic: 'MAXIMUM',
      Unit: signal === undefined ? null : SIGNALS[signal].unit,
      Dimensions: [
        { name: 'Severity', value: severity },
        ...(cluster === undefined ? [] : [{ name: 'Cluster', value: cluster }]),
        ...(part === undefined ? [] : [{ name: 'Part', value: part }]),
      ],
      Period: 60,
      EvaluationPeriods: datapoints.of,
      ComparisonOperator: 'heartbeat' in watches ? 'LessThanThreshold' : 'GreaterThanOrEqualToThreshold',
      Threshold: threshold,
      TreatMissingData: '- TreatMissingData: notBreaching',
      EvaluateLowSampleCountPercentile: '',
    },
  };
}

/** Its alarm in CloudWatch. A part tells several alarms of the hub apart. */
function nameOf({ alarm, cluster, part }: AlarmEvent): string {
  const base = alarmName(alarm);
  return cluster === undefined && part !== undefined ? `${base}-${part}` : base;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
