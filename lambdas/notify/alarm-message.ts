import { printable } from '../printable.ts';
import { field, text } from '../resources/fields.ts';
import { isAhead } from '../time.ts';

const STATES = ['ALARM', 'OK', 'INSUFFICIENT_DATA'] as const;

/** A state change of an alarm, as CloudWatch reports it. */
export interface AlarmMessage {
  readonly name: string;
  readonly state: (typeof STATES)[number];
  /** RFC 3339. */
  readonly changedAt?: string;
  /** Bounded and printable. */
  readonly reason?: string;
  /** The first command of the description: one line without shell metacharacters. */
  readonly first?: string;
}

/** Characters. Source: CloudWatch API Reference, PutMetricAlarm, AlarmDescription. */
const MAX_DESCRIPTION = 1_024;
/** The commands that descriptions contain, without shell metacharacters. */
const FIRST = /^First: (?<command>(?:aws|certmarshal) [\w./:=@, -]{1,390})$/m;

/**
 * Reads the message that CloudWatch publishes. Uses only the name and the new state: the other fields differ between
 * alarms with one metric and alarms with several contributors, and change.
 * Source: Amazon CloudWatch user guide, "Notifying users on alarm changes".
 *
 * @param now milliseconds since the epoch
 * @returns undefined for any other message
 */
export function readAlarmMessage(json: string, now: number): AlarmMessage | undefined {
  const value = parsed(json);
  const name = text(value, 'AlarmName');
  const state = STATES.find((one) => one === field(value, 'NewStateValue'));
  if (name === undefined || name === '' || state === undefined) return undefined;
  const reason = text(value, 'NewStateReason');
  return {
    name: printable(name, 255),
    state,
    changedAt: timeOf(text(value, 'StateChangeTime'), now),
    reason: reason === undefined || reason === '' ? undefined : printable(reason, 300),
    first: firstOf(text(value, 'AlarmDescription')),
  };
}

function firstOf(description: string | undefined): string | undefined {
  if (description === undefined || description.length > MAX_DESCRIPTION) return undefined;
  return FIRST.exec(description)?.groups?.['command'];
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** CloudWatch writes `2026-11-22T01:46:18.123+0000`. */
function timeOf(value: string | undefined, now: number): string | undefined {
  if (value === undefined || value.length > 40) return undefined;
  const time = Date.parse(value.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  if (Number.isNaN(time) || time < 0 || isAhead(time, now)) return undefined;
  return new Date(time).toISOString();
}
