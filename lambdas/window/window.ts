import { DAY_MS, MINUTE_MS } from '../time.ts';
import { localTime, momentsOf } from './local-time.ts';

export interface OnceWindow {
  /** RFC 3339. */
  readonly from: string;
  readonly until: string;
}

/**
 * Every week. Spans midnight if `until` is not after `from`.
 *
 * When the clock is set back, it is open from the first `from` to the last `until`; when the clock is set forward over
 * one of them, that moment counts. So it is open whenever the clock shows a time of the window, without interruption.
 */
export interface WeeklyWindow {
  /** Day on which it begins. */
  readonly days: readonly Weekday[];
  /** `02:00`, by the clock of `timeZone`. */
  readonly from: string;
  readonly until: string;
  /** IANA: `Europe/Berlin`. */
  readonly timeZone: string;
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/**
 * When an open window closes; undefined if it is not open, or its time or zone is invalid. Pure.
 *
 * @param now milliseconds since the epoch, as is the result
 */
export function endOfWindow(window: OnceWindow | WeeklyWindow, now: number): number | undefined {
  return spans(window, now).reduce<number | undefined>(
    (latest, { from, until }) => (from <= now && now < until ? Math.max(latest ?? until, until) : latest),
    undefined,
  );
}

/**
 * When a window opens next; undefined if never again. Pure.
 *
 * @param now milliseconds since the epoch, as is the result
 */
export function nextOpening(window: OnceWindow | WeeklyWindow, now: number): number | undefined {
  return spans(window, now).reduce<number | undefined>(
    (soonest, { from }) => (from > now ? Math.min(soonest ?? from, from) : soonest),
    undefined,
  );
}

/**
 * How long at least one of the windows was open between two times; the whole time without windows. Pure. Milliseconds,
 * as are the times.
 *
 * @param enough stops counting here
 */
export function openFor(
  windows: readonly (OnceWindow | WeeklyWindow)[],
  { from, until }: { readonly from: number; readonly until: number },
  enough: number,
): number {
  if (!(until > from)) return 0;
  if (windows.length === 0) return until - from;
  let open = 0;
  let at = from;
  while (at < until && open < enough) {
    const now = at;
    const ends = windows.flatMap((window) => endOfWindow(window, now) ?? []);
    const next = ends.length > 0 ? ends : windows.flatMap((window) => nextOpening(window, now) ?? []);
    at = ends.length > 0 ? Math.max(...next) : Math.min(...next);
    if (ends.length > 0) open += Math.min(at, until) - now;
  }
  return open;
}

interface Span {
  readonly from: number;
  readonly until: number;
}

/** Windows that began yesterday or later, for a week. */
function spans(window: OnceWindow | WeeklyWindow, now: number): readonly Span[] {
  if (!('days' in window)) return [{ from: Date.parse(window.from), until: Date.parse(window.until) }];
  const { days, timeZone } = window;
  const [opens, closes] = [minuteOf(window.from), minuteOf(window.until)];
  const shown = localTime(now, timeZone);
  if (opens === undefined || closes === undefined || shown === undefined) return [];
  const today = Math.floor(shown / DAY_MS) * DAY_MS;
  const length = closes > opens ? closes - opens : closes - opens + 24 * 60;
  return [-1, 0, 1, 2, 3, 4, 5, 6, 7].flatMap((offset) => {
    const day = today + offset * DAY_MS;
    if (!days.includes(weekdayOf(day))) return [];
    const begin = day + opens * MINUTE_MS;
    const from = momentsOf(begin, timeZone)?.first;
    const until = momentsOf(begin + length * MINUTE_MS, timeZone)?.last;
    return from === undefined || until === undefined ? [] : [{ from, until }];
  });
}

function weekdayOf(day: number): Weekday {
  return WEEKDAYS[(new Date(day).getUTCDay() + 6) % 7] ?? 'mon';
}

/** Minutes of the day. Undefined for an invalid time. */
function minuteOf(time: string): number | undefined {
  const { hour, minute } = /^(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d)$/.exec(time)?.groups ?? {};
  return hour === undefined ? undefined : Number(hour) * 60 + Number(minute);
}
