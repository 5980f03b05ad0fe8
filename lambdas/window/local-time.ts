import { DAY_MS, MINUTE_MS } from '../time.ts';

/**
 * The time that a clock of the zone shows, as if it were UTC: milliseconds since the epoch. Undefined for an unknown
 * zone.
 */
export function localTime(at: number, timeZone: string): number | undefined {
  const format = formatOf(timeZone);
  if (format === undefined) return undefined;
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return shown + modulo(at, 1000);
}

/**
 * The moments at which a clock shows `local`: the first and the last one, which differ when the clock is set back.
 * Where it is set forward over `local`, both are that moment. Undefined for an unknown zone.
 *
 * @param local as if it were UTC; milliseconds since the epoch
 */
export function momentsOf(
  local: number,
  timeZone: string,
): { readonly first: number; readonly last: number } | undefined {
  const offset = (at: number): number | undefined => {
    const shown = localTime(at, timeZone);
    return shown === undefined ? undefined : shown - at;
  };
  // No zone is more than a day from UTC, and none changes twice in two days.
  const before = offset(local - DAY_MS);
  const after = offset(local + DAY_MS);
  if (before === undefined || after === undefined) return undefined;
  const shown = [local - before, local - after].filter((at) => localTime(at, timeZone) === local);
  if (shown.length > 0) return { first: Math.min(...shown), last: Math.max(...shown) };
  // Never shown: the clock is set forward between these two. Changes are on whole minutes.
  let [earlier, later] = [local - after, local - before];
  while (later - earlier > MINUTE_MS) {
    const middle = Math.floor((earlier + later) / 2 / MINUTE_MS) * MINUTE_MS;
    if (middle <= earlier) break;
    if (offset(middle) === before) earlier = middle;
    else later = middle;
  }
  const change = Math.floor(later / MINUTE_MS) * MINUTE_MS;
  return { first: change, last: change };
}

/** Creating one costs more than all its uses. Zones are few: they come from `fleet.yaml`. */
const formats = new Map<string, Intl.DateTimeFormat | undefined>();

function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  if (!formats.has(timeZone)) formats.set(timeZone, newFormat(timeZone));
  return formats.get(timeZone);
}

function newFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
