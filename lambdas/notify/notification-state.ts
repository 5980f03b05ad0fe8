import type { AlarmChange, NotificationState, OpenAlarm, UnsentEvent } from '../contracts/notification-state.ts';
import type { AlarmId } from '../tables/alarms.ts';
import { entryOf } from '../tables/keys.ts';

/** In place of a cluster or part that is not known, or is the only one. */
export const NOBODY = '-';

/** As before anybody was told anything. */
export const NOTHING_NOTIFIED: NotificationState = { version: 1, open: {}, changes: {}, unsent: [] };

export interface TroubleName {
  readonly alarm: AlarmId;
  readonly key: string;
}

/** What a message tells, and what was seen; applied to whatever is remembered by then. */
export interface NotificationChange {
  readonly opened?: readonly (OpenAlarm & TroubleName)[];
  readonly closed?: readonly TroubleName[];
  /** What rings no more; without `since` it rings again. */
  readonly away?: readonly (TroubleName & { readonly since?: string })[];
  readonly changed?: AlarmChange & { readonly name: string };
  readonly lookedAt?: string;
  readonly digestAt?: string;
}

/** A claim that is older and not confirmed is of somebody who died before people were told. Longer than notify may run. Milliseconds. */
const CLAIM_MS = 2 * 60_000;

/** Entries that are kept, the newest of them; what is forgotten is told again, which is better than not at all. */
const MAX_OPEN = 40_000;
const MAX_CHANGES = 500;
/** Events that are kept for who did not get them, the newest of them. */
export const MAX_UNSENT = 5_000;

/**
 * What is remembered after people were told. Pure. The same change twice is the same as once.
 *
 * @param unsent in place of those remembered, where it is given
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
 * What is remembered before people are told, so that nobody else tells it: what will be opened is claimed, and what will be closed stays, claimed too. Pure.
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
 * What is remembered when people could not be told after all: as before the claim, for what is still claimed by it. Pure.
 *
 * @param before what was remembered before the claim
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

/** Whether the change tells nothing that is not remembered. Pure. */
export function changesNothing(told: NotificationState, change: NotificationChange): boolean {
  const { opened = [], closed = [], away = [], changed, lookedAt, digestAt } = change;
  return (
    [...opened, ...closed, ...away].length === 0 &&
    lookedAt === undefined &&
    digestAt === undefined &&
    (changed === undefined || isOld(told, changed))
  );
}

/** All of them, as a list. */
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

/** Whether what CloudWatch says was said before, or is overtaken. */
export function isOld(told: NotificationState, { name, at }: { readonly name: string; readonly at: string }): boolean {
  const last = lastChange(told, name);
  return last !== undefined && at <= last.at;
}

/** Whether somebody is telling people of it right now. */
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
