import { FATES, type FateRow } from '../slo/fates.ts';
import type { SloLedger } from '../slo/ledger.ts';
import { count, fields, isAhead, isCount, optional, present, type Read, ShapeError } from './shape.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The fate of a request can be told for an hour; twice that. */
const MAX_MINUTES = 120;
/** Made in one minute: far more than any API server takes. */
const MAX_REQUESTS = 10_000_000;
/** An hour and a half of minutes, three days of hours, 31 days, and room for another version. */
const MAX_PERIODS = { open: 240, hours: 120, days: 60 } as const;

/**
 * Each minute once, and none that the sweep cannot have seen.
 *
 * @param startedAt of the sweep that tells of them, RFC 3339
 * @throws ShapeError
 */
export function fatesUntil(startedAt: string): Read<readonly FateRow[]> {
  const last = Math.floor(Date.parse(startedAt) / MINUTE_MS);
  return (value, path) => {
    const rows = rowsOf(isFateRow, MAX_MINUTES)(value, path);
    for (const [minute, ...fates] of rows) {
      if (minute > last || minute < last - MAX_MINUTES) throw new ShapeError(`${path} has a minute of another time`);
      if (fates.some((requests) => requests > MAX_REQUESTS)) throw new ShapeError(`${path} has too many requests`);
    }
    return rows;
  };
}

/**
 * What the fleet index keeps of them. A ledger that is more than ten minutes ahead is none: no sweep could tell otherwise then.
 *
 * @param now milliseconds since the epoch
 * @throws ShapeError
 */
export function ledgerUntil(now: number): Read<SloLedger> {
  return (value, path) => {
    const ledger = fields(value, path);
    const read = present({
      open: rowsOf(isOpenRow, MAX_PERIODS.open)(ledger['open'], `${path}.open`),
      hours: rowsOf(isFateRow, MAX_PERIODS.hours)(ledger['hours'], `${path}.hours`),
      days: rowsOf(isFateRow, MAX_PERIODS.days)(ledger['days'], `${path}.days`),
      since: optional(count)(ledger['since'], `${path}.since`),
      closedBefore: optional(count)(ledger['closedBefore'], `${path}.closedBefore`),
    });
    if (isAhead(latestOf(read), now)) throw new ShapeError(`${path} is ahead`);
    return read;
  };
}

function latestOf({ open, hours, days, since = 0, closedBefore = 0 }: SloLedger): number {
  return Math.max(
    since,
    closedBefore * MINUTE_MS,
    ...open.map(([minute, , , , , , lookedAt]) => Math.max(minute * MINUTE_MS, lookedAt)),
    ...hours.map(([hour]) => hour * HOUR_MS),
    ...days.map(([day]) => day * DAY_MS),
  );
}

type Row = readonly [period: number, ...counts: number[]];

/** Each period once. They are given back as they are, not copied: the index of a large fleet has hundreds of thousands of them. */
function rowsOf<T extends Row>(isRow: (value: unknown) => value is T, most: number): Read<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length > most || !value.every(isRow))
      throw new ShapeError(`${path} is not a list of at most ${most} rows of whole numbers`);
    if (new Set(value.map(([period]) => period)).size !== value.length)
      throw new ShapeError(`${path} has something twice`);
    return value;
  };
}

function isFateRow(value: unknown): value is FateRow {
  return isCounts(value, 1 + FATES.length);
}

function isOpenRow(value: unknown): value is SloLedger['open'][number] {
  return isCounts(value, 2 + FATES.length);
}

function isCounts(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length === length && value.every(isCount);
}
