import { Alarm, type IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Token } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { isAboutNotify } from '../../lambdas/notify/alarm-name.ts';
import {
  ALARM_IDS,
  ALARMS,
  type AlarmEntry,
  type AlarmId,
  type AlarmSettings,
  type AlarmSeverity,
  alarmSetting,
  runbookPlace,
} from '../../lambdas/tables/alarms.ts';
import { SIGNALS } from '../../lambdas/tables/signals.ts';
import { alarmInstances } from './alarm-instances.ts';
import { nameOf } from './naming.ts';
import type { WatchedHub } from './watched.ts';

export interface FleetAlarmsProps {
  readonly settings: AlarmSettings;
  readonly hub: WatchedHub;
  /** Hears of failures of notify from CloudWatch itself. */
  readonly people: ITopic;
  readonly runbooks?: string | undefined;
}

export interface MadeAlarm {
  readonly id: AlarmId;
  readonly name: string;
  readonly severity: AlarmSeverity;
  readonly alarm: IAlarm;
}

/**
 * Every alarm of the table that is not switched off. EventBridge hands their state changes to notify, without an action
 * of the alarm.
 *
 * @returns them, in the order of the table
 */
export function fleetAlarms(
  scope: Construct,
  { settings, hub, people, runbooks }: FleetAlarmsProps,
): readonly MadeAlarm[] {
  return ALARM_IDS.flatMap((id) => {
    const { threshold, severity } = alarmSetting(id, settings);
    if (severity === 'off') return [];
    return alarmInstances(id, threshold, hub).map((instance) => {
      const { disambiguator, first } = instance;
      const name = nameOf({ alarm: id, disambiguator });
      const { atLeast, of } = ALARMS[id].datapoints;
      const alarm = new Alarm(scope, disambiguator === undefined ? id : `${id}-${disambiguator}`, {
        alarmName: name,
        alarmDescription: describeAlarm({ alarm: id, threshold: instance.threshold, first, runbooks }),
        metric: instance.metric,
        threshold: instance.threshold,
        comparisonOperator: instance.comparison,
        evaluationPeriods: of,
        datapointsToAlarm: atLeast,
        treatMissingData: instance.missing,
      });
      if (isAboutNotify({ alarm: id, part: disambiguator })) {
        const action = new SnsAction(people);
        alarm.addAlarmAction(action);
        alarm.addOkAction(action);
      }
      return { id, name, severity, alarm };
    });
  });
}

interface DescriptionProps {
  readonly alarm: AlarmId;
  /** In the unit of the metric. */
  readonly threshold: number;
  /** The exact command. */
  readonly first: string;
  readonly runbooks?: string | undefined;
}

/** Source: CloudWatch API Reference, PutMetricAlarm, AlarmDescription. */
const LONGEST = 1_024;
/** Length of values that only CloudFormation knows: the name of a log group, the ARN of a topic. */
const MAX_TOKEN = 250;

/**
 * The text of an alarm for the paged engineer: what it means, when it fires, what to do first, and where to read on.
 * The command has its own line, to be copied.
 *
 * @throws Error for a text that CloudWatch would reject
 */
function describeAlarm({ alarm, threshold, first, runbooks }: DescriptionProps): string {
  const entry: AlarmEntry = ALARMS[alarm];
  const { meaning, datapoints, watches } = entry;
  const minutes =
    datapoints.of === 1
      ? 'a minute shows'
      : `${datapoints.atLeast} of ${datapoints.of} minutes ${datapoints.atLeast === 1 ? 'shows' : 'show'}`;
  const rollout = first.includes(' rollout ') ? ' For an EKS cluster run certmarshal audit instead.' : '';
  const management = first.includes(' KUBECONFIG ')
    ? ` Add --management-kubeconfig FILE for a workload cluster.${rollout}`
    : '';
  const who =
    'signal' in watches
      ? ` The contributor is the id of the cluster: ID stands for it, CLUSTER for its name.${management}`
      : '';
  const text = `${meaning} Fires when ${minutes} ${fires(entry, threshold)}.${who}\nFirst: ${first}\nRunbook: ${runbookPlace(alarm, runbooks)}`;
  if (lengthOf(text) > LONGEST) throw new Error(`the description of ${alarm} is longer than ${LONGEST} characters`);
  return text;
}

function fires(entry: AlarmEntry, threshold: number): string {
  if ('firesAt' in entry) return entry.firesAt.replace('N', String(threshold));
  const { unit } = SIGNALS[entry.watches.signal];
  return unit === 'Seconds' ? `${threshold} seconds or more` : `${threshold} or more`;
}

function lengthOf(text: string): number {
  const literal = text.replaceAll(/\$\{Token\[[^\]]*\]\}/g, '');
  return literal.length + (Token.isUnresolved(text) ? MAX_TOKEN : 0);
}
