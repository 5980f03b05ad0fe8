import type { AlarmChange, DigestMemory, OpenAlarm, Told, UnsentEvent } from '../contracts/notification-state.ts';
import type { AlarmId } from '../tables/alarms.ts';

/** In place of a cluster or part that is not known, or is the only one. */
export const NOBODY = '-';

/** As before anybody was told anything. */
export const NOTHING_TOLD: Told = { version: 1, open: {}, changes: {}, unsent: [] };

export interface TroubleName {
  readonly alarm: AlarmId;
  readonly key: string;
}

/** What a message tells, and what was seen; applied to whatever is remembered by then. */
export interface ToldChange {
  readonly opened?: readonly (OpenAlarm & TroubleName)[];
  readonly closed?: readonly TroubleName[];
  /** What rings no more; without `since` it rings again. */
  readonly away?: readonly (TroubleName & { readonly since?: string })[];
  readonly changed?: AlarmChange & { readonly name: string };
  readonly lookedAt?: string;
  readonly digest?: DigestMemory;
}

/** A claim that is older and not confirmed is of somebody who died before people were told. Longer than notify may run. Milliseconds. */
const CLAIM_MS = 2 * 60_000;

/** Entries that are kept, the newest of them; what is forgotten is told again, which is better than not at all. */
const MOST_OPEN = 40_000;
const MOST_CHANGES = 500;
const MOST_REMEMBERED = 5_000;
/** Events that are kept for EventBridge, the newest of them. */
export const MOST_UNSENT = 5_000;

/**
 * What is remembered after people were told. Pure. The same change twice is the same as once.
 *
 * @param unsent in place of those remembered, where it is given
 */
export function afterTelling(told: Told, change: ToldChange, unsent: readonly UnsentEvent[] = told.unsent): Told {
  const open = new Map(openAlarms(told).map((entry) => [keyOf(entry), entry]));
  for (const { since, ...name } of change.away ?? []) {
    const { awaySince: _, ...entry } = open.get(keyOf(name)) ?? {};
    if ('openedAt' in entry) open.set(keyOf(name), { ...entry, ...(since === undefined ? {} : { awaySince: since }) });
  }
  for (const gone of change.closed ?? []) open.delete(keyOf(gone));
  for (const entry of change.opened ?? []) open.set(keyOf(entry), entry);
  const { changed, lookedAt = told.lookedAt, digest = told.digest } = change;
  const changes = {
    ...told.changes,
    ...(changed && !isOld(told, changed) && { [changed.name]: { state: changed.state, at: changed.at } }),
  };
  return {
    version: 1,
    open: nested(newest([...open.values()], ({ openedAt }) => openedAt, MOST_OPEN)),
    changes: Object.fromEntries(newest(Object.entries(changes), ([, { at }]) => at, MOST_CHANGES)),
    lookedAt,
    digest: digest === undefined ? undefined : bounded(digest),
    unsent: unsent.slice(-MOST_UNSENT),
  };
}

/**
 * What is remembered before people are told, so that nobody else tells it: what will be opened is claimed, and what will be closed stays, claimed too. Pure.
 *
 * @param at RFC 3339
 */
export function afterClaiming(told: Told, change: ToldChange, at: string): Told {
  const { opened = [], closed = [], ...seen } = change;
  const closing = closed.flatMap((name) => {
    const entry = openAlarm(told, name);
    return entry === undefined ? [] : [{ ...name, ...entry, closingAt: at }];
  });
  return afterTelling(told, { ...seen, opened: [...opened.map((entry) => ({ ...entry, claimedAt: at })), ...closing] });
}

/**
 * What is remembered when people could not be told after all: as before the claim, for what is still claimed by it. Pure.
 *
 * @param before what was remembered before the claim
 * @param at the time of the claim
 */
export function afterReleasing(
  told: Told,
  before: Told,
  { opened = [], closed = [], changed }: ToldChange,
  at: string,
): Told {
  const mine = [...opened, ...closed].filter((name) => {
    const entry = openAlarm(told, name);
    return entry?.claimedAt === at || entry?.closingAt === at;
  });
  const restored = mine.flatMap(({ alarm, key }) => {
    const entry = openAlarm(before, { alarm, key });
    return entry === undefined ? [] : [{ alarm, key, ...entry }];
  });
  const released = afterTelling(told, { closed: mine, opened: restored });
  const last = changed && lastChange(told, changed.name);
  if (changed === undefined || last?.at !== changed.at) return released;
  const { [changed.name]: _, ...others } = released.changes;
  const former = lastChange(before, changed.name);
  return { ...released, changes: { ...others, ...(former && { [changed.name]: former }) } };
}

/** Whether the change tells nothing that is not remembered. Pure. */
export function changesNothing(told: Told, change: ToldChange): boolean {
  const { opened = [], closed = [], away = [], changed, lookedAt, digest } = change;
  return (
    [...opened, ...closed, ...away].length === 0 &&
    lookedAt === undefined &&
    digest === undefined &&
    (changed === undefined || isOld(told, changed))
  );
}

/** All of them, as a list. */
export function openAlarms({ open }: Pick<Told, 'open'>): readonly (OpenAlarm & TroubleName)[] {
  return alarmIds(open).flatMap((alarm) =>
    Object.entries(open[alarm] ?? {}).map(([key, entry]) => ({ ...entry, alarm, key })),
  );
}

function openAlarm({ open }: Told, { alarm, key }: TroubleName): OpenAlarm | undefined {
  const byKey = open[alarm] ?? {};
  return Object.hasOwn(byKey, key) ? byKey[key] : undefined;
}

export function lastChange({ changes }: Told, name: string): AlarmChange | undefined {
  return Object.hasOwn(changes, name) ? changes[name] : undefined;
}

/** Whether what CloudWatch says was said before, or is overtaken. */
export function isOld(told: Told, { name, at }: { readonly name: string; readonly at: string }): boolean {
  const last = lastChange(told, name);
  return last !== undefined && at <= last.at;
}

/** Whether somebody is telling people of it right now. */
export function isFresh(claimedAt: string | undefined, now: number): boolean {
  return claimedAt !== undefined && Math.abs(now - Date.parse(claimedAt)) < CLAIM_MS;
}

function alarmIds(open: Told['open']): readonly AlarmId[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of such a record are these
  return Object.keys(open) as AlarmId[];
}

function keyOf({ alarm, key }: TroubleName): string {
  return `${alarm} ${key}`;
}

function nested(entries: ReturnType<typeof openAlarms>): Told['open'] {
  return Object.fromEntries(
    [...Map.groupBy(entries, ({ alarm }) => alarm)].map(([alarm, same]) => [
      alarm,
      Object.fromEntries(same.map(({ key, ...named }) => [key, entryOf(named)])),
    ]),
  );
}

function entryOf({ openedAt, story, claimedAt, awaySince, closingAt }: OpenAlarm): OpenAlarm {
  return { openedAt, story, claimedAt, awaySince, closingAt };
}

function newest<T>(entries: readonly T[], at: (entry: T) => string, most: number): readonly T[] {
  if (entries.length <= most) return entries;
  return entries.toSorted((a, b) => (at(a) < at(b) ? 1 : -1)).slice(0, most);
}

function bounded({ at, critical, warning }: DigestMemory): DigestMemory {
  return { at, critical: critical.slice(0, MOST_REMEMBERED), warning: warning.slice(0, MOST_REMEMBERED) };
}
