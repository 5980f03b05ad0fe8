import type { FateCounts, FateRow } from './fates.ts';

/**
 * The fates of the requests of one cluster, as the fleet index keeps them. Each minute counts once, as the first look at it after its 15 minutes told:
 * a second, late or repeated look at the same minute changes nothing, a lost one is made good by the next within the hour.
 */
export interface SloLedger {
  /** Minutes that a late outcome may still tell of: the row, and when it was looked at (milliseconds since the epoch). Sparse, by minute. */
  readonly open: readonly (readonly [...row: FateRow, lookedAt: number])[];
  /** Closed ones, folded: `[hour since the epoch, …counts]`, of the last three days. Sparse. */
  readonly hours: readonly FateRow[];
  /** `[day since the epoch, …counts]`, of the 30 days before. Sparse. */
  readonly days: readonly FateRow[];
}

/**
 * The ledger after an outcome that was made at `lookedAt`. Pure. Any order, repetition and batching of the same outcomes gives the same ledger, as long
 * as each comes before its minutes are closed.
 *
 * @param lookedAt when the sweep began; milliseconds since the epoch, as `now`
 */
export function foldFates(
  _ledger: SloLedger | undefined,
  _rows: readonly FateRow[],
  _lookedAt: number,
  _now: number,
): SloLedger {
  throw new Error('not built');
}

/** The requests that were made from `from` (inclusive) to `until`; of folded hours and days those that begin in it. Pure. */
export function fatesBetween(_ledger: SloLedger | undefined, _from: number, _until: number): FateCounts {
  throw new Error('not built');
}
