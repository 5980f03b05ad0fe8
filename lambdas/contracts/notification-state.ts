import * as z from 'zod/mini';
import { ALARM_IDS, ALARMS, alarmRunbook } from '../tables/alarms.ts';
import { isAhead } from '../time.ts';
import { type Contract, list, lossyRecord, read, text } from './contract.ts';
import { AlarmEvent, DigestEvent } from './event.ts';
import { Time } from './values.ts';

const MAX_ENTRIES = 50_000;
const MAX_EVENTS = 6_000;
/** Of one event, as JSON: EventBridge accepts 256 KiB. Bytes. */
const MAX_EVENT = 200_000;
/** A cluster and a part of it. */
const KEY = /^[ -~]{1,600}$/;

const OpenAlarm = z.object({
  /** When people were notified. */
  openedAt: Time,
  story: text(1_000),
  /** A run of notify is about to send it, and has not recorded yet that it did. */
  claimedAt: z.optional(Time),
  /** Since when it no longer fires. */
  awaySince: z.optional(Time),
  /** Like `claimedAt`, for the closing. */
  closingAt: z.optional(Time),
});
export type OpenAlarm = Contract<typeof OpenAlarm>;

const AlarmChange = z.object({ state: z.enum(['ALARM', 'OK']), at: Time });
export type AlarmChange = Contract<typeof AlarmChange>;

const AlarmBusEvent = z.object({
  detailType: z.enum(['certmarshal alarm opened', 'certmarshal alarm closed']),
  detail: AlarmEvent,
});
const DigestBusEvent = z.object({ detailType: z.literal('certmarshal digest'), detail: DigestEvent });

export type BusEvent = Contract<typeof AlarmBusEvent> | Contract<typeof DigestBusEvent>;

const RECEIVERS = ['bus', 'pager', 'chat'] as const;
export type Receiver = (typeof RECEIVERS)[number];

/** Receivers still to be served. */
const to = z.array(z.enum(RECEIVERS)).check(z.minLength(1), z.maxLength(RECEIVERS.length));

const UnsentEvent = z
  .discriminatedUnion('detailType', [z.extend(AlarmBusEvent, { to }), z.extend(DigestBusEvent, { to })])
  .check(
    z.refine(
      ({ detailType, detail }) =>
        detailType === 'certmarshal digest' ||
        ('state' in detail && detailType === `certmarshal alarm ${detail.state}`),
    ),
    z.refine((event) => Buffer.byteLength(JSON.stringify(event)) <= MAX_EVENT),
  );
/** An event that some receiver did not get yet. */
export type UnsentEvent = BusEvent & { readonly to: readonly Receiver[] };

const OfAlarms = z.partialRecord(z.enum(ALARM_IDS), lossyRecord(OpenAlarm, MAX_ENTRIES, KEY));

const NotificationState = z.object({
  version: z.literal(1),
  /** By alarm; then by cluster, part of a cluster, or part of certmarshal. */
  open: z.pipe(z.pipe(z.record(z.string(), z.unknown()), z.transform(knownAlarms)), OfAlarms),
  /** The last report of CloudWatch, by alarm name: anything not newer is late or a duplicate. */
  changes: lossyRecord(AlarmChange, MAX_ENTRIES, KEY),
  /** When the fleet was last compared with this record. */
  lookedAt: z.optional(Time),
  /** When the last digest was sent. */
  digestAt: z.optional(Time),
  unsent: list(z.unknown(), MAX_EVENTS),
});

/** Open incidents that people were notified of. Only notify writes it, to S3. */
export interface NotificationState extends Omit<Contract<typeof NotificationState>, 'unsent'> {
  readonly unsent: readonly UnsentEvent[];
}

/**
 * Reads the stored state. Undefined if invalid: then nothing is remembered, and people are notified again. Drops
 * invalid entries, unknown alarms, and entries more than ten minutes ahead.
 *
 * @param now milliseconds since the epoch
 */
export function parseNotificationState(value: unknown, now: number): NotificationState | undefined {
  const state = read(NotificationState, value);
  if (!state.ok) return undefined;
  const { open, changes, lookedAt, digestAt, unsent } = state.value;
  return {
    version: 1,
    open: Object.fromEntries(
      Object.entries(open).map(([id, entries]) => [id, past(entries, ({ openedAt }) => openedAt, now)]),
    ),
    changes: past(changes, ({ at }) => at, now),
    lookedAt: isAhead(lookedAt, now) ? undefined : lookedAt,
    digestAt: isAhead(digestAt, now) ? undefined : digestAt,
    unsent: unsent.flatMap((event) => {
      const known = read(UnsentEvent, event);
      return known.ok ? [withOwnRunbook(known.value)] : [];
    }),
  };
}

/** Number of events dropped, which are then never sent. */
export function droppedEvents(value: unknown, { unsent }: NotificationState): number {
  const stored = read(z.object({ unsent: z.array(z.unknown()) }), value);
  return stored.ok ? stored.value.unsent.length - unsent.length : 0;
}

/** Never the stored one: people open it. */
function withOwnRunbook(event: UnsentEvent): UnsentEvent {
  return event.detailType === 'certmarshal digest'
    ? event
    : { ...event, detail: { ...event.detail, runbook: alarmRunbook(event.detail.alarm) } };
}

function knownAlarms(open: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(open).filter(([id]) => Object.hasOwn(ALARMS, id)));
}

function past<T>(entries: Readonly<Record<string, T>>, at: (entry: T) => string, now: number): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => !isAhead(at(entry), now)));
}
