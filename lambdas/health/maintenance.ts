import { matchesGlob } from '../approval/selection.ts';
import { localTime, momentsOf } from './local-time.ts';

/** When a cluster is expected not to be as it should. It hides what `ALARMS` says it explains, and nothing else. */
export interface MaintenanceWindow {
  /** Globs over ids and names of clusters. */
  readonly clusters: readonly string[];
  readonly reason?: string;
  readonly when: OnceWindow | WeeklyWindow;
}

export interface OnceWindow {
  /** RFC 3339. */
  readonly from: string;
  readonly until: string;
}

/**
 * Every week. Across midnight where `until` is not after `from`.
 *
 * On the night when the clock is set back it is open from the first `from` to the last `until`; where the clock is set forward over one of them, that moment counts.
 * So whenever the clock shows a time of the window it is open, and it is never interrupted.
 */
export interface WeeklyWindow {
  /** On which it begins. */
  readonly days: readonly Weekday[];
  /** `02:00`, by the clock of `timeZone`. */
  readonly from: string;
  readonly until: string;
  /** IANA: `Europe/Berlin`. */
  readonly timeZone: string;
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** A window that is open. */
export interface OpenWindow extends Pick<MaintenanceWindow, 'clusters' | 'reason'> {
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * The window that a cluster is in, the one that ends last; undefined when it is in none. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function maintenanceOf(
  cluster: { readonly id: string; readonly name?: string },
  windows: readonly MaintenanceWindow[],
  now: number,
): { readonly until: string; readonly reason?: string } | undefined {
  return coveredBy(cluster, openWindows(windows, now));
}

/**
 * Those that are open, the one that ends last first: looked for once for all clusters. One whose time or zone makes no sense never is. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function openWindows(windows: readonly MaintenanceWindow[], now: number): readonly OpenWindow[] {
  return windows
    .flatMap(({ clusters, reason, when }) => {
      const until = 'days' in when ? endOfWeekly(when, now) : endOfOnce(when, now);
      return until === undefined ? [] : [{ clusters, until, ...(reason === undefined ? {} : { reason }) }];
    })
    .toSorted((a, b) => b.until - a.until);
}

/**
 * The first of the open windows that is for a cluster. Pure.
 *
 * @param open as {@link openWindows} gives them
 */
export function coveredBy(
  { id, name = id }: { readonly id: string; readonly name?: string },
  open: readonly OpenWindow[],
): { readonly until: string; readonly reason?: string } | undefined {
  const found = open.find(({ clusters }) => clusters.some((glob) => matchesGlob(glob, id) || matchesGlob(glob, name)));
  if (found === undefined) return undefined;
  const { until, reason } = found;
  return { until: new Date(until).toISOString(), ...(reason === undefined ? {} : { reason }) };
}

/** Undefined when it is not open. */
function endOfOnce({ from, until }: OnceWindow, now: number): number | undefined {
  const end = Date.parse(until);
  return Date.parse(from) <= now && now < end ? end : undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Undefined when it is not open. */
function endOfWeekly({ days, from, until, timeZone }: WeeklyWindow, now: number): number | undefined {
  const [opens, closes] = [minuteOf(from), minuteOf(until)];
  const shown = localTime(now, timeZone);
  if (opens === undefined || closes === undefined || shown === undefined) return undefined;
  const today = Math.floor(shown / DAY_MS) * DAY_MS;
  const length = closes > opens ? closes - opens : closes - opens + 24 * 60;
  const ends = [today - DAY_MS, today].flatMap((day) => {
    if (!days.includes(weekdayOf(day))) return [];
    const begin = day + opens * MINUTE_MS;
    const first = momentsOf(begin, timeZone)?.first;
    const last = momentsOf(begin + length * MINUTE_MS, timeZone)?.last;
    return first !== undefined && last !== undefined && first <= now && now < last ? [last] : [];
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function weekdayOf(day: number): Weekday {
  return WEEKDAYS[(new Date(day).getUTCDay() + 6) % 7] ?? 'mon';
}

/** Of the day. Undefined when it is no time of a day. */
function minuteOf(time: string): number | undefined {
  const { hour, minute } = /^(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d)$/.exec(time)?.groups ?? {};
  return hour === undefined ? undefined : Number(hour) * 60 + Number(minute);
}
