// Milliseconds.
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** The largest difference of two clocks; a later time is in the future. */
export const CLOCKS_DIFFER_MS = 10 * MINUTE_MS;

/** The start of the year 0, the first that RFC 3339 can write. Milliseconds since the epoch. */
const FIRST_INSTANT = -62_167_219_200_000;
/** The end of the year 9999, the last that RFC 3339 can write. Milliseconds since the epoch. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** RFC 3339 text to milliseconds since the epoch; undefined when it is not that. */
export function instant(value: string | undefined): number | undefined {
  if (value === undefined || !RFC3339.test(value)) return undefined;
  const milliseconds = Date.parse(value);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** RFC 3339; a time outside its range becomes the nearest one in it, an invalid time the last one. */
export function timestamp(time: number): string {
  const at = Number.isNaN(time) ? LAST_INSTANT : time;
  return new Date(Math.max(FIRST_INSTANT, Math.min(LAST_INSTANT, at))).toISOString();
}

/**
 * Whether a time is too far in the future to be clock skew: compared with it, everything would be old until then.
 *
 * @param at RFC 3339, or milliseconds since the epoch, as `now`
 */
export function isAhead(at: string | number | undefined, now: number): boolean {
  return at !== undefined && (typeof at === 'number' ? at : Date.parse(at)) - now > CLOCKS_DIFFER_MS;
}
