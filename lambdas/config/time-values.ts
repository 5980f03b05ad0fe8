import { z } from 'zod';
import { didYouMean } from '../did-you-mean.ts';
import { WEEKDAYS } from '../window/window.ts';
import { distinct, list, matching, refusing, text } from './values.ts';

// Schemas of times, each with its error text.

const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const INSTANT_FORM = 'a date and time with its zone, for example 2026-12-05T20:00:00+01:00';

/** RFC 3339; without a zone the time would be ambiguous. */
export const instant = refusing(
  matching(INSTANT_FORM, INSTANT, `is not a time as RFC 3339 writes it; write ${INSTANT_FORM}`),
  (value) =>
    INSTANT.test(value) && !isDay(value.slice(0, 10))
      ? `is a day that does not exist; write ${INSTANT_FORM}`
      : undefined,
);

function isDay(date: string): boolean {
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}

/** Minutes of a day. */
export const clockTime = matching(
  'the time of a day, for example 02:00',
  /^(?:[01]\d|2[0-3]):[0-5]\d$/,
  'is not the time of a day; write hours and minutes, from 00:00 to 23:59',
);

export const weekdays = distinct(list(z.enum(WEEKDAYS)), 'a day appears twice');

/** IANA, as this Node.js knows it. */
export const timeZone = refusing(text('a time zone, for example Europe/Berlin'), timeZoneProblem);

function timeZoneProblem(name: string): string | undefined {
  const canonical = canonicalZone(name);
  if (canonical === name) return undefined;
  // Intl ignores case; EventBridge Scheduler does not.
  const near = canonical?.toLowerCase() === name.toLowerCase() ? canonical : undefined;
  if (canonical !== undefined && near === undefined) return undefined;
  const meant = near ?? didYouMean(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
  return `is not a time zone; ${meant === undefined ? 'write its IANA name, for example Europe/Berlin or UTC' : `did you mean "${meant}"?`}`;
}

/** Undefined for an invalid zone, and for an offset, which has no daylight saving time. */
function canonicalZone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
