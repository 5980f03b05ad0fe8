import * as z from 'zod/mini';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';
import { type Contract, lossy } from './contract.ts';
import { Count } from './values.ts';

/** The fate of a request is known for an hour; twice that. */
const MAX_MINUTES = 120;
/** Most requests of one minute: far more than any API server accepts. */
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

/** A minute, and the time of its sweep. Milliseconds since the epoch. */
export type OpenRow = readonly [...row: FateRow, lookedAt: number];

/**
 * Upper bounds, in seconds, for the time from creation to approval. The last one includes longer times; an approved
 * request exists for an hour.
 */
export const WAIT_BOUNDS = [1, 5, 15, 30, 60, 180, 900, 3_600] as const;
/** How many of the requests of one period waited up to each of {@link WAIT_BOUNDS}. */
export type WaitRow = readonly [period: number, ...counts: number[]];
const WAIT_ROW = 1 + WAIT_BOUNDS.length;

/** A minute as reported by a sweep; without waits if nothing was approved. */
export type ToldRow = readonly [...row: FateRow, ...waits: number[]];

/** The report of one sweep: each minute once, with a plausible number of requests. */
export const FateRows = rowsOf<ToldRow>([6, 6 + WAIT_BOUNDS.length], MAX_MINUTES).check(
  z.refine(
    (all) => all.every(([, ...counts]) => counts.every((requests) => requests <= MAX_REQUESTS)),
    'has too many requests',
  ),
);

/**
 * The fates of the requests of one cluster in the fleet index, as the windows of the objective need them: minutes for
 * an hour, hours for three days, days for thirty. Each minute counts once, from the first sweep after its 15 minutes:
 * later and repeated sweeps change nothing, and the next one within the hour makes up for a lost one.
 *
 * Sparse, by period. At most 24 kB of JSON for one cluster, in an index that is
 * written once a minute for all.
 */
export const SloLedger = z.object({
  /** Minutes that a late outcome may still change. */
  open: rowsOf<OpenRow>([7], 240),
  /** Minutes that are closed. */
  hours: rowsOf<FateRow>([6], 120),
  days: rowsOf<FateRow>([6], 60),
  /** For the same minutes, and the hours of a day. Absent without any, and in a cluster that was cut. */
  waits: lossy(z.object({ open: rowsOf<WaitRow>([WAIT_ROW], 240), hours: rowsOf<WaitRow>([WAIT_ROW], 120) })),
  /**
   * The first sweep of the cluster. Milliseconds since the epoch. Earlier requests do not count: the cluster was not
   * watched, and its waiting requests are often why it was added.
   */
  since: Count,
  /** Earlier minutes are closed, even for a writer whose clock is behind. Whole minutes since the epoch. */
  closedBefore: Count,
});
export type SloLedger = Contract<typeof SloLedger>;

/**
 * At most `most` rows of this many whole numbers, each period once. One check for all and no copy: the index of a large
 * fleet has hundreds of thousands of rows.
 */
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

/** Whether a sweep that began at this time (RFC 3339) can have seen these minutes. */
export function areOfSweep(rows: readonly ToldRow[], startedAt: string): boolean {
  const last = Math.floor(Date.parse(startedAt) / MINUTE_MS);
  return rows.every(([minute]) => minute <= last && minute >= last - MAX_MINUTES);
}
