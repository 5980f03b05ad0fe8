import { DAY_MS, HOUR_MS, MINUTE_MS, timestamp } from './time.ts';

const YEAR_MS = 365.25 * DAY_MS;

/** Milliseconds since the epoch; undefined for an invalid time. */
export function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** `41 days`, `3 hours`, `12 minutes`; never rounded up, so that no one counts on more time than there is. */
export function span(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  if (length >= 2 * YEAR_MS) return `${Math.floor((length / YEAR_MS) * 10) / 10} years`;
  if (length >= 2 * DAY_MS) return counted(Math.floor(length / DAY_MS), 'day');
  if (length >= 2 * HOUR_MS) return counted(Math.floor(length / HOUR_MS), 'hour');
  if (length >= MINUTE_MS) return counted(Math.floor(length / MINUTE_MS), 'minute');
  return 'less than a minute';
}

/** `2027-01-01 08:11 UTC`. */
export function date(time: number): string {
  const [day = '', clock = ''] = timestamp(time).split('T');
  return `${day} ${clock.slice(0, 5)} UTC`;
}

/** `99.95 %`; never rounded up to a hundred. */
export function percent(share: number): string {
  return `${Math.floor(share * 10_000 + 1e-9) / 100} %`;
}

/** `1 place`, `12 places`. */
export function counted(count: number, thing: string, things = `${thing}s`): string {
  if (!Number.isFinite(count)) return `some ${things}`;
  return `${count} ${count === 1 ? thing : things}`;
}

/**
 * The first three, or all four if the last is short, and how many more there are.
 *
 * @param count of all, where `names` are only the first ones
 */
export function firstOf(names: readonly string[], shown = 3, count = names.length): string {
  const last = count === shown + 1 ? names[shown] : undefined;
  // Hardly longer than `and 1 more`.
  const end = last !== undefined && last.length <= 20 ? count : shown;
  const more = count - end;
  return `${names.slice(0, end).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** `CertificateExpired` → `certificate-expired`, as pages and alarms are called. */
export function kebab(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
}

/** For sorting: by code unit, the same on every machine. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
