import { ALARMS, type AlarmId } from '../tables/alarms.ts';
import { kebab } from '../words.ts';

export const ALARM_PREFIX = 'certmarshal';

const PART = /^[A-Za-z0-9][A-Za-z0-9_-]{0,150}$/;

export interface NamedAlarm {
  readonly alarm: AlarmId;
  /** One of several: a function, a topic. */
  readonly part?: string;
}

/**
 * The name of an alarm in CloudWatch: `certmarshal-function-errors-sweep`. {@link alarmOf} is its inverse.
 *
 * @param part one of several with the same id
 * @throws Error if {@link alarmOf} could not read `part` back
 */
export function alarmName(alarm: AlarmId, part?: string): string {
  if (part !== undefined && !PART.test(part)) throw new Error(`${part} cannot be a part of the name of an alarm`);
  return [ALARM_PREFIX, kebab(alarm), ...(part === undefined ? [] : [part])].join('-');
}

/** Undefined for a name that {@link alarmName} does not make. The longest id that fits wins. */
export function alarmOf(name: string): NamedAlarm | undefined {
  for (const [kebabId, alarm] of IDS) {
    const start = `${ALARM_PREFIX}-${kebabId}`;
    if (name === start) return { alarm };
    const part = name.startsWith(`${start}-`) ? name.slice(start.length + 1) : '';
    if (PART.test(part)) return { alarm, part };
  }
  return undefined;
}

/** notify cannot say that it fails or is not called: people hear of these alarms from CloudWatch. */
export function isAboutNotify(named: NamedAlarm | undefined): boolean {
  return named?.alarm === 'AlarmUndelivered' || (named?.alarm === 'FunctionErrors' && named.part === 'notify');
}

const IDS = Object.keys(ALARMS)
  .filter((id): id is AlarmId => id in ALARMS)
  .map((alarm) => [kebab(alarm), alarm] as const)
  .toSorted(([a], [b]) => b.length - a.length);
