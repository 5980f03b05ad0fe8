import { ALARM_PREFIX, alarmName } from '../../lambdas/notify/alarm-name.ts';
import type { AlarmId, AlarmSeverity } from '../../lambdas/tables/alarms.ts';

/** What a name of CloudWatch is made of. */
export interface NameParts {
  /** Of a composite alarm: what it stands for. */
  readonly level?: AlarmSeverity;
  readonly alarm?: AlarmId;
  /** Which one of several: a function, a queue, a Region. */
  readonly disambiguator?: string;
}

/** Source: CloudWatch API Reference, PutMetricAlarm, AlarmName. */
const LONGEST = 255;

/**
 * The name of everything that people look for in CloudWatch, so that it is never called by what CloudFormation makes up. Its parts, in this order, with `-` between:
 *
 * 1. the prefix, `certmarshal`
 * 2. the level of a composite alarm: `critical`
 * 3. the id of the alarm in kebab case, as in `fleet.yaml` and of its runbook: `cluster-unreadable`
 * 4. what tells several of one id apart: `sweep-onprem`
 *
 * A part that repeats the one before it is left out. notify reads the names of alarms back, so theirs are made where it does.
 *
 * @throws Error for a name that CloudWatch would not take
 */
export function nameOf({ level, alarm, disambiguator }: NameParts): string {
  const name = alarm === undefined ? joined([ALARM_PREFIX, level, disambiguator]) : alarmName(alarm, disambiguator);
  if (name.length > LONGEST)
    throw new Error(`${name} is longer than the ${LONGEST} characters of a name in CloudWatch`);
  return name;
}

function joined(parts: readonly (string | undefined)[]): string {
  const said = parts.filter((part) => part !== undefined);
  return said.filter((part, index) => part !== said[index - 1]).join('-');
}
