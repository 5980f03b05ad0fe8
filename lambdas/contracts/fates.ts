import * as z from 'zod/mini';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';
import { type Contract, lossy } from './contract.ts';
import { Count } from './values.ts';

/** The fate of a request can be told for an hour; twice that. */
const MAX_MINUTES = 120;
/** Made in one minute: far more than any API server takes. */
const MAX_REQUESTS = 10_000_000;
/** The fates of the requests that were made in one period (whole minutes, hours or days since the epoch), in the order of `FATES`. */
export type FateRow = readonly [
  period: number,
  us: number,
  others: number,
  missed: number,
  refused: number,
  unprovable: number,
];

/** A minute, and when it was looked at. Milliseconds since the epoch. */
export type OpenRow = readonly [...row: FateRow, lookedAt: number];

/**
 * How long approved requests waited from their creation to their approval: upper bounds in seconds. The last one takes what is longer; an approved request is
 * seen for an hour.
 */
export const WAIT_BOUNDS = [1, 5, 15, 30, 60, 180, 900, 3_600] as const;
/** How many waited as long as each of {@link WAIT_BOUNDS}, of the requests that were made in one period. */
export type WaitRow = readonly [period: number, ...counts: number[]];
const WAIT_ROW = 1 + WAIT_BOUNDS.length;

/** A minute as a sweep tells of it; without waits where nothing was approved, and from an earlier version. */
export type ToldRow = readonly [...row: FateRow, ...waits: number[]];

/** What one sweep says: each minute once, and no more requests than there can be. */
export const FateRows = rowsOf<ToldRow>([6, 6 + WAIT_BOUNDS.length], MAX_MINUTES).check(
  z.refine(
    (all) => all.every(([, ...counts]) => counts.every((requests) => requests <= MAX_REQUESTS)),
    'has too many requests',
  ),
);

/**
 * The fates of the requests of one cluster, as the fleet index keeps them: what the windows of the objective need, minutes for an hour, hours for three days,
 * days for thirty. Each minute counts once, as the first look at it after its 15 minutes told: a second, late or repeated look at the same minute changes
 * nothing, a lost one is made good by the next within the hour.
 *
 * Sparse, by period; it has room for another version. What one cluster makes of it is at most 24 kB of JSON, in an index that is written once a minute for all.
 */
export const SloLedger = z.object({
  /** Minutes that a late outcome may still tell of. */
  open: rowsOf<OpenRow>([7], 240),
  /** Minutes that are closed. */
  hours: rowsOf<FateRow>([6], 120),
  days: rowsOf<FateRow>([6], 60),
  /** Of the same minutes, and of the hours of a day. Beside them, so that a version which does not know it keeps the rest. */
  waits: lossy(z.object({ open: rowsOf<WaitRow>([WAIT_ROW], 240), hours: rowsOf<WaitRow>([WAIT_ROW], 120) })),
  /**
   * The first look at the cluster. Milliseconds since the epoch. What was asked before does not count: no one watched the cluster then, and that its
   * requests wait is often why it was added.
   */
  since: Count,
  /** Earlier minutes are closed, also for a writer whose clock is behind. Whole minutes since the epoch. */
  closedBefore: Count,
});
export type SloLedger = Contract<typeof SloLedger>;

/** At most `most` rows of so many whole numbers, each period once. One check for all, and no copy: the index of a large fleet has hundreds of thousands of rows. */
function rowsOf<Row extends readonly [number, ...number[]]>(lengths: readonly number[], most: number) {
  const isRow = (row: unknown): row is Row => Array.isArray(row) && lengths.includes(row.length) && row.every(isCount);
  return z.custom<readonly Row[]>(
    (all) =>
      Array.isArray(all) &&
      all.length <= most &&
      all.every(isRow) &&
      new Set(all.map(([period]) => period)).size === all.length,
    `is not a list of at most ${most} rows of ${lengths.join(' or ')} whole numbers, each period once`,
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The newest time in a ledger. Milliseconds since the epoch. */
export function latestOf({ open, hours, days, waits, since, closedBefore }: SloLedger): number {
  return Math.max(
    since,
    closedBefore * MINUTE_MS,
    ...open.map(([minute, , , , , , lookedAt]) => Math.max(minute * MINUTE_MS, lookedAt)),
    ...(waits?.open ?? []).map(([minute]) => minute * MINUTE_MS),
    ...[...hours, ...(waits?.hours ?? [])].map(([hour]) => hour * HOUR_MS),
    ...days.map(([day]) => day * DAY_MS),
  );
}

/** Whether a sweep that began then (RFC 3339) can have seen these minutes. */
export function areOfSweep(rows: readonly ToldRow[], startedAt: string): boolean {
  const last = Math.floor(Date.parse(startedAt) / MINUTE_MS);
  return rows.every(([minute]) => minute <= last && minute >= last - MAX_MINUTES);
}
