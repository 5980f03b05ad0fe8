import { printable } from '../printable.ts';
import { isAhead } from '../time.ts';

const STATES = ['ALARM', 'OK', 'INSUFFICIENT_DATA'] as const;

/** What CloudWatch says of an alarm that changed its state. */
export interface AlarmMessage {
  readonly name: string;
  readonly state: (typeof STATES)[number];
  /** RFC 3339. */
  readonly changedAt?: string;
  /** Bounded and printable. */
  readonly reason?: string;
  /** The first command of its description: one line that no shell sees more in than its words. */
  readonly first?: string;
}

/** Characters. Source: CloudWatch API Reference, PutMetricAlarm, AlarmDescription. */
const LONGEST_DESCRIPTION = 1_024;
/** The commands that descriptions have, and nothing that means something to a shell. */
const FIRST = /^First: (?<command>(?:aws|certmarshal) [\w./:=@, -]{1,390})$/m;

/**
 * Reads the message that CloudWatch publishes. Only the name and the new state are relied on: an alarm with several contributors writes fewer and other
 * fields than one with a single metric, and they change.
 * Source: Amazon CloudWatch user guide, "Notifying users on alarm changes".
 *
 * @param now milliseconds since the epoch
 * @returns undefined when it is no such message
 */
export function readAlarmMessage(text: string, now: number): AlarmMessage | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const field = (name: string): unknown =>
    Object.hasOwn(value, name) ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
  const name = field('AlarmName');
  const state = STATES.find((one) => one === field('NewStateValue'));
  if (typeof name !== 'string' || name === '' || state === undefined) return undefined;
  const changedAt = timeOf(field('StateChangeTime'), now);
  const reason = field('NewStateReason');
  const first = firstOf(field('AlarmDescription'));
  return {
    name: printable(name, 255),
    state,
    changedAt,
    reason: typeof reason === 'string' && reason !== '' ? printable(reason, 300) : undefined,
    first,
  };
}

function firstOf(description: unknown): string | undefined {
  if (typeof description !== 'string' || description.length > LONGEST_DESCRIPTION) return undefined;
  return FIRST.exec(description)?.groups?.['command'];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** CloudWatch writes `2026-11-22T01:46:18.123+0000`. */
function timeOf(value: unknown, now: number): string | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const time = Date.parse(value.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  if (Number.isNaN(time) || time < 0 || isAhead(time, now)) return undefined;
  return new Date(time).toISOString();
}
