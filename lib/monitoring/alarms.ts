import { Alarm, type IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import {
  ALARM_IDS,
  ALARMS,
  type AlarmId,
  type AlarmSettings,
  type AlarmSeverity,
  alarmSetting,
} from '../../lambdas/tables/alarms.ts';
import { alarmInstances } from './alarm-instances.ts';
import { describeAlarm } from './description.ts';
import { nameOf } from './naming.ts';
import type { WatchedHub } from './watched.ts';

export interface FleetAlarmsProps {
  readonly settings: AlarmSettings;
  readonly hub: WatchedHub;
  readonly notified: ITopic;
  /** Topic of people, for failures of notify itself. */
  readonly people: ITopic;
  /** The URL at which the runbooks are published. */
  readonly runbooks?: string | undefined;
}

/** A created alarm, with what the others need to know about it. */
export interface MadeAlarm {
  readonly id: AlarmId;
  readonly name: string;
  readonly severity: AlarmSeverity;
  readonly alarm: IAlarm;
}

/** notify cannot report its own failures, nor that the topic of alarms does not reach it. */
const OF_NOTIFY: ReadonlySet<string | undefined> = new Set(['notify', 'alarms']);

/**
 * Every alarm of the table that is not switched off. Each reports its state changes to notify, which turns them into
 * messages.
 *
 * @returns them, in the order of the table
 */
export function fleetAlarms(
  scope: Construct,
  { settings, hub, notified, people, runbooks }: FleetAlarmsProps,
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
      const action = new SnsAction(OF_NOTIFY.has(disambiguator) ? people : notified);
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return { id, name, severity, alarm };
    });
  });
}
