import type { AlarmChange, NotificationState, OpenAlarm, UnsentEvent } from '../contracts/notification-state.ts';
import type { AlarmId } from '../tables/alarms.ts';
import { entryOf } from '../tables/keys.ts';

/** Key of an incident without a cluster or part. */
export const NOBODY = '-';

/** The state before the first message. */
export const NOTHING_NOTIFIED: NotificationState = { version: 1, open: {}, changes: {}, unsent: [] };

export interface TroubleName {
  readonly alarm: AlarmId;
  readonly key: string;
}

/** What a plan changes; applied to the state as it is when it is written. */
export interface NotificationChange {
  readonly opened?: readonly (OpenAlarm & TroubleName)[];
  readonly closed?: readonly TroubleName[];
  /** Incidents that no longer fire; without `since` they fire again. */
  readonly away?: readonly (TroubleName & { readonly since?: string })[];
  readonly changed?: AlarmChange & { readonly name: string };
  readonly lookedAt?: string;
  readonly digestAt?: string;
}

/** An older unconfirmed claim belongs to a run that died. Longer than the timeout of notify. Milliseconds. */
const CLAIM_MS = 2 * 60_000;

/** The newest entries are kept. A forgotten one is sent again, which is better than never. */
const MAX_OPEN = 40_000;
const MAX_CHANGES = 500;
/** The newest undelivered events are kept. */
export const MAX_UNSENT = 5_000;

/**
 * The state after people were notified. Pure, idempotent.
 *
 * @param unsent replaces the undelivered events
 */
export function markNotified(
  told: NotificationState,
  change: NotificationChange,
  unsent: readonly UnsentEvent[] = told.unsent,
): NotificationState {
  const open = new Map(openAlarms(told).map((entry) => [keyOf(entry), entry]));
  for (const { since, ...name } of change.away ?? []) {
    const entry = open.get(keyOf(name));
    if (entry !== undefined) open.set(keyOf(name), { ...entry, awaySince: since });
  }
  for (const gone of change.closed ?? []) open.delete(keyOf(gone));
  for (const entry of change.opened ?? []) open.set(keyOf(entry), entry);
  const { changed, lookedAt = told.lookedAt, digestAt = told.digestAt } = change;
  const changes = {
    ...told.changes,
    ...(changed && !isOld(told, changed) && { [changed.name]: { state: changed.state, at: changed.at } }),
  };
  return {
    version: 1,
    open: nested(newest([...open.values()], ({ openedAt }) => openedAt, MAX_OPEN)),
    changes: Object.fromEntries(newest(Object.entries(changes), ([, { at }]) => at, MAX_CHANGES)),
    lookedAt,
    digestAt,
    unsent: unsent.slice(-MAX_UNSENT),
  };
}

/**
 * The state before people are notified: incidents to open or close are claimed, so that no other run sends them. Pure.
 *
 * @param at RFC 3339
 */
export function claimNotifications(told: NotificationState, change: NotificationChange, at: string): NotificationState {
  const { opened = [], closed = [], ...seen } = change;
  const closing = closed.flatMap((name) => {
    const entry = openAlarm(told, name);
    return entry === undefined ? [] : [{ ...name, ...entry, closingAt: at }];
  });
  return markNotified(told, { ...seen, opened: [...opened.map((entry) => ({ ...entry, claimedAt: at })), ...closing] });
}

/**
 * The state when people could not be notified: entries still claimed by this run go back to their earlier state. Pure.
 *
 * @param before the state before the claim
 * @param at the time of the claim
 */
export function releaseNotifications(
  told: NotificationState,
  before: NotificationState,
  { opened = [], closed = [], changed }: NotificationChange,
  at: string,
): NotificationState {
  const mine = [...opened, ...closed].filter((name) => {
    const entry = openAlarm(told, name);
    return entry?.claimedAt === at || entry?.closingAt === at;
  });
  const restored = mine.flatMap(({ alarm, key }) => {
    const entry = openAlarm(before, { alarm, key });
    return entry === undefined ? [] : [{ alarm, key, ...entry }];
  });
  const released = markNotified(told, { closed: mine, opened: restored });
  const last = changed && lastChange(told, changed.name);
  if (changed === undefined || last?.at !== changed.at) return released;
  const { [changed.name]: _, ...others } = released.changes;
  const former = lastChange(before, changed.name);
  return { ...released, changes: { ...others, ...(former && { [changed.name]: former }) } };
}

/** The part of a change that is of some alarms. Pure. */
export function changeOfAlarms(change: NotificationChange, isOf: (alarm: AlarmId) => boolean): NotificationChange {
  const { opened = [], closed = [] } = change;
  return {
    ...change,
    opened: opened.filter(({ alarm }) => isOf(alarm)),
    closed: closed.filter(({ alarm }) => isOf(alarm)),
  };
}

/** Whether the state already contains the change. Pure. */
export function changesNothing(told: NotificationState, change: NotificationChange): boolean {
  const { opened = [], closed = [], away = [], changed, lookedAt, digestAt } = change;
  return (
    [...opened, ...closed, ...away].length === 0 &&
    lookedAt === undefined &&
    digestAt === undefined &&
    (changed === undefined || isOld(told, changed))
  );
}

/** The open incidents as a list. */
export function openAlarms({ open }: Pick<NotificationState, 'open'>): readonly (OpenAlarm & TroubleName)[] {
  return alarmIds(open).flatMap((alarm) =>
    Object.entries(open[alarm] ?? {}).map(([key, entry]) => ({ ...entry, alarm, key })),
  );
}

function openAlarm({ open }: NotificationState, { alarm, key }: TroubleName): OpenAlarm | undefined {
  return entryOf(open[alarm], key);
}

export function lastChange({ changes }: NotificationState, name: string): AlarmChange | undefined {
  return entryOf(changes, name);
}

/** Whether a state change of CloudWatch is a duplicate or out of order. */
export function isOld(told: NotificationState, { name, at }: { readonly name: string; readonly at: string }): boolean {
  const last = lastChange(told, name);
  return last !== undefined && at <= last.at;
}

/** Whether another run may be sending it now. */
export function isFresh(claimedAt: string | undefined, now: number): boolean {
  return claimedAt !== undefined && Math.abs(now - Date.parse(claimedAt)) < CLAIM_MS;
}

function alarmIds(open: NotificationState['open']): readonly AlarmId[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of such a record are these
  return Object.keys(open) as AlarmId[];
}

function withoutName({ openedAt, story, claimedAt, awaySince, closingAt }: OpenAlarm): OpenAlarm {
  return { openedAt, story, claimedAt, awaySince, closingAt };
}

function keyOf({ alarm, key }: TroubleName): string {
  return `${alarm} ${key}`;
}

function nested(entries: ReturnType<typeof openAlarms>): NotificationState['open'] {
  return Object.fromEntries(
    [...Map.groupBy(entries, ({ alarm }) => alarm)].map(([alarm, same]) => [
      alarm,
      Object.fromEntries(same.map((entry) => [entry.key, withoutName(entry)])),
    ]),
  );
}

function newest<T>(entries: readonly T[], at: (entry: T) => string, most: number): readonly T[] {
  if (entries.length <= most) return entries;
  return entries.toSorted((a, b) => (at(a) < at(b) ? 1 : -1)).slice(0, most);
}
