import type { FateCounts } from './fates.ts';
import type { SloLedger } from './ledger.ts';

/** What a cluster, or the fleet, has reached. */
export interface SloState {
  readonly objective: number;
  /** The last 30 days. */
  readonly counts: FateCounts;
  /** Accepted ÷ (accepted + missed) over them, from 0 to 1; absent when there was none. Rightly refused and unprovable ones are no promise. */
  readonly attainment?: number;
  /** What is left of the requests that may be missed, from 1 down to below 0; 1 where there was none. */
  readonly budgetLeft: number;
  /** How many times faster than allowed the budget was burnt: the less of the last hour and the last 15 minutes that can be told. */
  readonly fastBurn: number;
  /** Over three days. */
  readonly slowBurn: number;
  /** Requests missed in the last hour that can be told. */
  readonly missedLately: number;
}

/**
 * Pure. What can be told ends about 16 minutes before `now`: younger requests have no fate yet.
 * Source of the windows: Google, The Site Reliability Workbook, chapter 5.
 *
 * @param ledgers of one cluster, or of all
 * @param objective the share that is to be accepted, below 1
 */
export function sloState(_ledgers: readonly SloLedger[], _objective: number, _now: number): SloState {
  throw new Error('not built');
}
