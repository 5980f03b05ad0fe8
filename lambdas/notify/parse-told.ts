import {
  count,
  fields,
  isAhead,
  list,
  mark,
  oneOf,
  optional,
  present,
  type Read,
  reading,
  ShapeError,
  text,
  time,
  versionOf,
} from '../fleet/shape.ts';
import { ALARM_SEVERITIES, ALARMS, type AlarmId, alarmRunbook } from '../health/alarms.ts';
import { CLUSTER_STATES } from '../health/fleet-health.ts';
import type { AlarmEvent, DigestEvent } from './message.ts';
import type { AlarmChange, BusEvent, DigestMemory, OpenAlarm, Told, UnsentEvent } from './told.ts';

/** A cluster and a part of it. */
const KEY = /^[ -~]{1,600}$/;
const MOST = 50_000;
const MOST_EVENTS = 6_000;
/** Of one event, as JSON: EventBridge takes 256 KiB. Bytes. */
const LARGEST_EVENT = 200_000;

/**
 * Reads what S3 gives back. Undefined when it is not what notify wrote: then nothing is remembered, and people are told again. Single entries that are not, are
 * left out, and so is what a later version remembers of alarms that this one does not know, and what is more than ten minutes ahead.
 *
 * @param now milliseconds since the epoch
 */
export function parseTold(value: unknown, now: number): Told | undefined {
  const read = reading(() => readTold(value, now));
  return read.ok ? read.value : undefined;
}

/** How many events are in it that are none, so that they are not sent. */
export function eventsLeftOut(value: unknown, told: Told): number {
  const found = reading(() => fields(value, 'told')['unsent']);
  return found.ok && Array.isArray(found.value) ? found.value.length - told.unsent.length : 0;
}

function readTold(value: unknown, now: number): Told {
  const told = fields(value, 'told');
  versionOf(told, 1);
  const open = Object.entries(bounded(fields(told['open'], 'open'))).flatMap(([id, byKey]) =>
    isAlarmId(id) ? [[id, good(fields(byKey, `open.${id}`), readOpen, ({ openedAt }) => openedAt, now)] as const] : [],
  );
  const digest = optional(readDigest)(told['digest'], 'digest');
  const lookedAt = optional(time)(told['lookedAt'], 'lookedAt');
  return present({
    version: 1 as const,
    open: Object.fromEntries(open),
    changes: good(fields(told['changes'], 'changes'), readChange, ({ at }) => at, now),
    lookedAt: lookedAt !== undefined && isAhead(lookedAt, now) ? undefined : lookedAt,
    digest: digest !== undefined && isAhead(digest.at, now) ? undefined : digest,
    unsent: list((event) => event, MOST_EVENTS)(told['unsent'], 'unsent').flatMap((event) => {
      const read = reading(() => readEvent(event, 'unsent'));
      return read.ok ? [read.value] : [];
    }),
  });
}

/** Entries that are what they have to be. */
function good<T>(
  all: Readonly<Record<string, unknown>>,
  read: Read<T>,
  at: (entry: T) => string,
  now: number,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(bounded(all)).flatMap(([key, value]) => {
      const entry = reading(() => read(value, 'entry'));
      return KEY.test(key) && entry.ok && !isAhead(at(entry.value), now) ? [[key, entry.value]] : [];
    }),
  );
}

function bounded<T extends Readonly<Record<string, unknown>>>(all: T): T {
  if (Object.keys(all).length > MOST) throw new ShapeError(`there are more than ${MOST} entries`);
  return all;
}

const readOpen: Read<OpenAlarm> = (value, path) => {
  const entry = fields(value, path);
  const optionalTime = (name: string) => optional(time)(entry[name], `${path}.${name}`);
  return present({
    openedAt: time(entry['openedAt'], `${path}.openedAt`),
    story: text(1_000)(entry['story'], `${path}.story`),
    claimedAt: optionalTime('claimedAt'),
    awaySince: optionalTime('awaySince'),
    closingAt: optionalTime('closingAt'),
  });
};

const readChange: Read<AlarmChange> = (value, path) => {
  const change = fields(value, path);
  return {
    state: oneOf(['ALARM', 'OK'] as const)(change['state'], `${path}.state`),
    at: time(change['at'], `${path}.at`),
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

/** Whoever may write the object may not make an event of anything else. */
const readEvent: Read<UnsentEvent> = (value, path) => {
  const event = fields(value, path);
  const refused = optional(mark)(event['refused'], `${path}.refused`);
  const detailType = event['detailType'];
  const read: BusEvent =
    detailType === 'certmarshal digest'
      ? { detailType, detail: readDigestEvent(event['detail'], path) }
      : alarmEventOf(readAlarmEvent(event['detail'], path), detailType);
  if (Buffer.byteLength(JSON.stringify(read)) > LARGEST_EVENT) throw new ShapeError(`${path} is too large`);
  return { ...read, ...(refused === undefined ? {} : { refused }) };
};

function alarmEventOf(detail: AlarmEvent, detailType: unknown): BusEvent {
  const expected = `certmarshal alarm ${detail.state}` as const;
  if (detailType !== expected) throw new ShapeError('the event is not of its type');
  return { detailType: expected, detail };
}

const readAlarmEvent: Read<AlarmEvent> = (value, path) => {
  const detail = fields(value, path);
  versionOf(detail, 1);
  const { alarm } = detail;
  if (typeof alarm !== 'string' || !isAlarmId(alarm)) throw new ShapeError(`${path}.alarm is none`);
  return present({
    version: 1 as const,
    alarm,
    severity: oneOf(ALARM_SEVERITIES)(detail['severity'], `${path}.severity`),
    state: oneOf(['opened', 'closed'] as const)(detail['state'], `${path}.state`),
    cluster: optional(text(310))(detail['cluster'], `${path}.cluster`),
    part: optional(text(260))(detail['part'], `${path}.part`),
    story: text(700)(detail['story'], `${path}.story`),
    since: optional(anyTime)(detail['since'], `${path}.since`),
    due: optional(anyTime)(detail['due'], `${path}.due`),
    at: time(detail['at'], `${path}.at`),
    command: text(900)(detail['command'], `${path}.command`),
    // Not what is written there.
    runbook: alarmRunbook(alarm),
  });
};

/** As clusters give it. */
const anyTime: Read<string> = (value, path) => {
  const at = text(40)(value, path);
  if (Number.isNaN(Date.parse(at))) throw new ShapeError(`${path} is no time`);
  return at;
};

const readDigestEvent: Read<DigestEvent> = (value, path) => {
  const detail = fields(value, path);
  versionOf(detail, 1);
  const ids = optional(list(text(310), 100));
  return present({
    version: 1 as const,
    at: time(detail['at'], `${path}.at`),
    story: text(700)(detail['story'], `${path}.story`),
    counts: optional(readCounts)(detail['counts'], `${path}.counts`),
    critical: ids(detail['critical'], `${path}.critical`),
    warning: ids(detail['warning'], `${path}.warning`),
    opened: ids(detail['opened'], `${path}.opened`),
    mended: ids(detail['mended'], `${path}.mended`),
    objective: optional(readObjective)(detail['objective'], `${path}.objective`),
  });
};

const readCounts: Read<Readonly<Record<string, number>>> = (value, path) => {
  const counts = fields(value, path);
  return Object.fromEntries(
    CLUSTER_STATES.flatMap((state) => (state in counts ? [[state, count(counts[state], `${path}.${state}`)]] : [])),
  );
};

const readObjective: Read<NonNullable<DigestEvent['objective']>> = (value, path) => {
  const objective = fields(value, path);
  return present({
    promised: share(objective['promised'], `${path}.promised`),
    attainment: optional(share)(objective['attainment'], `${path}.attainment`),
    budgetLeft: share(objective['budgetLeft'], `${path}.budgetLeft`),
  });
};

const share: Read<number> = (value, path) => {
  if (typeof value !== 'number' || !(value <= 1) || !Number.isFinite(value))
    throw new ShapeError(`${path} is no share`);
  return value;
};

function isAlarmId(id: string): id is AlarmId {
  return Object.hasOwn(ALARMS, id);
}
