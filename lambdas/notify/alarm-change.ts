import type { AlarmEvent } from '../contracts/alarm-event.ts';
import { printable } from '../printable.ts';
import { printableName } from '../printable-name.ts';
import { type AlarmId, isOnSignal } from '../tables/alarms.ts';
import { ALARM_PREFIX, alarmOf, isAboutNotify } from './alarm-name.ts';
import { inert } from './inert.ts';

/** A state change that people get a message of. */
export interface AlarmChange {
  /** In CloudWatch. */
  readonly name: string;
  /** Undefined for an alarm of another version. */
  readonly alarm?: AlarmId | undefined;
  readonly opens: boolean;
  /** Id of the cluster, or `*` for a group of them. */
  readonly cluster?: string | undefined;
  /** Class of the certificates, or part of certmarshal: a function, a topic. */
  readonly what?: string | undefined;
  /** The same when it opens and when it closes. */
  readonly key: string;
  /** RFC 3339. */
  readonly at: string;
  /** Of CloudWatch, as the command in the description of the alarm. */
  readonly reason: string;
  readonly command?: string | undefined;
}

/** Characters. Source: Amazon CloudWatch API Reference, PutMetricAlarm, AlarmName: pagers read the key as one. */
const LONGEST_KEY = 255;
/** Of a description that this version or another one wrote: no shell metacharacters. */
const FIRST = /^First: (?<command>(?:aws|certmarshal) [\w./:=@, -]{1,390})$/m;
/** Alarms on other alarms, which CloudWatch tells people of without us. */
const LEVEL = new RegExp(`^${ALARM_PREFIX}-(?:critical|warning)(?:-group-\\d+)?$`);

/**
 * Undefined where people need no message: an alarm on a query changes too when its contributors do, an alarm about
 * notify goes to people directly, and a new alarm becomes OK. Pure.
 */
export function alarmChange({ 'detail-type': type, time, detail }: AlarmEvent): AlarmChange | undefined {
  const { alarmName, state, previousState, alarmContributor, configuration } = detail;
  const named = alarmOf(alarmName);
  const isContributor = type === 'CloudWatch Alarm Contributor State Change';
  const isOfContributors = named !== undefined && isOnSignal(named.alarm);
  const opens = state.value === 'ALARM';
  const isNews = opens || (isContributor ? state.value === 'OK' : (previousState?.value ?? 'ALARM') === 'ALARM');
  if (LEVEL.test(alarmName) || isAboutNotify(named) || (isOfContributors && !isContributor) || !isNews)
    return undefined;
  const { Cluster: cluster, Class: ofClass } = alarmContributor?.attributes ?? {};
  const what = ofClass ?? named?.part;
  const parts = [named?.alarm ?? alarmName, cluster, what].filter((part) => part !== undefined);
  return {
    name: alarmName,
    alarm: named?.alarm,
    opens,
    cluster,
    what,
    key: printableName(inert(parts.join(' ')), LONGEST_KEY),
    at: time,
    reason: printable(state.reason ?? 'no reason', 300),
    command: FIRST.exec(configuration?.description ?? '')?.groups?.['command'],
  };
}
