import {
  type Fields,
  fields,
  isAhead,
  list,
  optional,
  present,
  type Read,
  reading,
  table,
  text,
  time,
  versionOf,
} from '../fleet/shape.ts';
import { ALARMS, type AlarmId } from '../health/alarms.ts';
import type { BusEvent, DigestMemory, OpenAlarm, Told } from './told.ts';

const KEY = /^[ -~]{1,310}$/;
const MOST = 50_000;

/**
 * Reads what S3 gives back. Undefined when it is not what notify wrote: then nothing is remembered, and people are told again. So is what a later version
 * remembers of alarms that this one does not know, and what is more than ten minutes ahead.
 *
 * @param now milliseconds since the epoch
 */
export function parseTold(value: unknown, now: number): Told | undefined {
  const read = reading(() => readTold(value, now));
  return read.ok ? read.value : undefined;
}

function readTold(value: unknown, now: number): Told {
  const told = fields(value, 'told');
  versionOf(told, 1);
  const open = table(/^\w{1,60}$/, table(KEY, readOpen, MOST), 200)(told['open'], 'open');
  const changes = table(KEY, time, MOST)(told['changes'], 'changes');
  const digest = optional(readDigest)(told['digest'], 'digest');
  const entries = Object.entries(open).filter(([id]) => isAlarmId(id));
  return present({
    version: 1 as const,
    open: Object.fromEntries(entries.map(([id, byKey]) => [id, past(byKey, ({ openedAt }) => openedAt, now)])),
    changes: past(changes, (at) => at, now),
    digest: digest !== undefined && isAhead(digest.at, now) ? undefined : digest,
    unsent: list(readEvent, 1_000)(told['unsent'], 'unsent').flatMap((event) => event ?? []),
  });
}

function past<T>(byKey: Readonly<Record<string, T>>, at: (entry: T) => string, now: number): Record<string, T> {
  return Object.fromEntries(Object.entries(byKey).filter(([, entry]) => !isAhead(at(entry), now)));
}

const readOpen: Read<OpenAlarm> = (value, path) => {
  const entry = fields(value, path);
  return {
    openedAt: time(entry['openedAt'], `${path}.openedAt`),
    story: text(1_000)(entry['story'], `${path}.story`),
  };
};

const readDigest: Read<DigestMemory> = (value, path) => {
  const digest = fields(value, path);
  const ids = list(text(310), MOST);
  return {
    at: time(digest['at'], `${path}.at`),
    critical: ids(digest['critical'], `${path}.critical`),
    warning: ids(digest['warning'], `${path}.warning`),
  };
};

/** Its detail was made by notify and goes where it was meant to go: it is not looked into. */
const readEvent: Read<BusEvent | undefined> = (value, path) => {
  const event = fields(value, path);
  fields(event['detail'], `${path}.detail`);
  return isEvent(event) ? event : undefined;
};

function isEvent(event: Fields): event is Fields & BusEvent {
  const { detailType } = event;
  return typeof detailType === 'string' && /^certmarshal (?:alarm (?:opened|closed)|digest)$/.test(detailType);
}

function isAlarmId(id: string): id is AlarmId {
  return Object.hasOwn(ALARMS, id);
}
