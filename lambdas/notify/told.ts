import type { AlarmId } from '../health/alarms.ts';
import type { AlarmEvent, DigestEvent } from './message.ts';

/** What people were told and not yet that it is over. notify alone writes it, to S3. */
export interface Told {
  readonly version: 1;
  /** By alarm; then by id of the cluster, or for an alarm about certmarshal by {@link AlarmEvent.part}. {@link NOBODY} stands for none. */
  readonly open: Readonly<Partial<Record<AlarmId, Readonly<Record<string, OpenAlarm>>>>>;
  /** When CloudWatch changed the state of an alarm last, by its name: what is not newer comes late or again. Only where no cluster says more. RFC 3339. */
  readonly changes: Readonly<Record<string, string>>;
  /** Of the last digest. */
  readonly digest?: DigestMemory;
  /** Events that EventBridge did not take; they are sent with the next ones. */
  readonly unsent: readonly BusEvent[];
}

export interface OpenAlarm {
  /** When people were told. RFC 3339. */
  readonly openedAt: string;
  readonly story: string;
}

export interface DigestMemory {
  readonly at: string;
  readonly critical: readonly string[];
  readonly warning: readonly string[];
}

/** One event of EventBridge. */
export type BusEvent =
  | { readonly detailType: 'certmarshal alarm opened' | 'certmarshal alarm closed'; readonly detail: AlarmEvent }
  | { readonly detailType: 'certmarshal digest'; readonly detail: DigestEvent };

/** In place of a cluster or part that is not known, or is the only one. */
export const NOBODY = '-';

/** As before anybody was told anything. */
export const NOTHING_TOLD: Told = { version: 1, open: {}, changes: {}, unsent: [] };

/** What a message tells; applied to whatever is remembered by then. */
export interface ToldChange {
  readonly opened?: readonly (OpenAlarm & { readonly alarm: AlarmId; readonly key: string })[];
  readonly closed?: readonly { readonly alarm: AlarmId; readonly key: string }[];
  readonly changed?: { readonly name: string; readonly at: string };
  readonly digest?: DigestMemory;
}

/** Entries that are kept, the newest of them; what is forgotten is told again, which is better than not at all. */
const MOST_OPEN = 40_000;
const MOST_CHANGES = 500;
const MOST_REMEMBERED = 5_000;
const MOST_UNSENT = 500;

/**
 * What is remembered after people were told. Pure. The same change twice is the same as once.
 *
 * @param unsent in place of those remembered, where it is given
 */
export function afterTelling(told: Told, change: ToldChange, unsent: readonly BusEvent[] = told.unsent): Told {
  const open = new Map(openAlarms(told).map((entry) => [keyOf(entry), entry]));
  for (const gone of change.closed ?? []) open.delete(keyOf(gone));
  for (const entry of change.opened ?? []) open.set(keyOf(entry), entry);
  const changes = { ...told.changes, ...(change.changed && { [change.changed.name]: change.changed.at }) };
  const digest = change.digest ?? told.digest;
  return {
    version: 1,
    open: nested(newest([...open.values()], ({ openedAt }) => openedAt, MOST_OPEN)),
    changes: Object.fromEntries(newest(Object.entries(changes), ([, at]) => at, MOST_CHANGES)),
    ...(digest === undefined ? {} : { digest: bounded(digest) }),
    unsent: unsent.slice(-MOST_UNSENT),
  };
}

/** All of them, as a list. */
export function openAlarms({ open }: Told): readonly (OpenAlarm & { readonly alarm: AlarmId; readonly key: string })[] {
  return alarmIds(open).flatMap((alarm) =>
    Object.entries(open[alarm] ?? {}).map(([key, entry]) => ({ ...entry, alarm, key })),
  );
}

function alarmIds(open: Told['open']): readonly AlarmId[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of such a record are these
  return Object.keys(open) as AlarmId[];
}

function keyOf({ alarm, key }: { readonly alarm: AlarmId; readonly key: string }): string {
  return `${alarm} ${key}`;
}

function nested(entries: ReturnType<typeof openAlarms>): Told['open'] {
  return Object.fromEntries(
    [...Map.groupBy(entries, ({ alarm }) => alarm)].map(([alarm, same]) => [
      alarm,
      Object.fromEntries(same.map(({ key, openedAt, story }) => [key, { openedAt, story }])),
    ]),
  );
}

function newest<T>(entries: readonly T[], at: (entry: T) => string, most: number): readonly T[] {
  if (entries.length <= most) return entries;
  return entries.toSorted((a, b) => (at(a) < at(b) ? 1 : -1)).slice(0, most);
}

function bounded({ at, critical, warning }: DigestMemory): DigestMemory {
  return { at, critical: critical.slice(0, MOST_REMEMBERED), warning: warning.slice(0, MOST_REMEMBERED) };
}
