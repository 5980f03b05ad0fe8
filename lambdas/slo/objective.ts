import { type SloLedger, WAIT_BOUNDS } from '../contracts/fates.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';
import { type FateCounts, WAIT_MS } from './fates.ts';
import { fatesBetween, waitsBetween } from './ledger.ts';

/** Results of a cluster or of the fleet. */
export interface SloState {
  readonly objective: number;
  /** The last 30 days. */
  readonly counts: FateCounts;
  /**
   * Accepted ÷ (accepted + missed) over the window, from 0 to 1; absent without requests. Rightly rejected and
   * unprovable ones do not count.
   */
  readonly attainment?: number;
  /** What is left of the error budget, from 1 to below 0; 1 without requests. */
  readonly budgetLeft: number;
  /**
   * How many times faster than allowed the error budget burns: the lower value of the last hour and the last 15 minutes
   * that are known. 0 with fewer than {@link FAST_BURN_FLOOR} missed requests in the hour.
   */
  readonly fastBurn: number;
  /** Burn rate over three days. Every missed request counts. */
  readonly slowBurn: number;
  /** Missed requests of the last known hour. */
  readonly missedLately: number;
  readonly day: DayState;
}

/** The last 24 known hours, by the hour. */
export interface DayState {
  readonly counts: FateCounts;
  /** Accepted ÷ all requests, provable or not, from 0 to 1; absent without requests. Source: KEP-267. */
  readonly accepted?: number;
  /**
   * The bound of `WAIT_BOUNDS`, in seconds, within which half, and 95 %, of the approved requests were approved. Absent
   * without any.
   */
  readonly p50Seconds?: number;
  readonly p95Seconds?: number;
}

/** Percent. */
const SHARES = Array.from({ length: 20 }, (_, n) => (n + 1) * 5);

/**
 * One missed request of three in an hour is 333 times the burn that 99.9 % allows, and no reason to page: the kubelet
 * asks again every 15 minutes. Three missed ones are three nodes, or one that waits for most of an hour. The slow burn
 * covers fewer.
 */
const FAST_BURN_FLOOR = 3;

/** The end of the known time: a minute is over, its requests have waited, and a sweep has run. */
const TOLD_AFTER_MS = WAIT_MS + MINUTE_MS;

/**
 * The known time ends about 16 minutes before `now`: younger requests have no fate yet. Pure.
 * Source of the windows: Google, The Site Reliability Workbook, chapter 5.
 *
 * @param ledgers of one cluster, or of all
 * @param objective the share that is to be accepted, below 1
 */
export function sloState(ledgers: readonly SloLedger[], objective: number, now: number): SloState {
  const until = now - TOLD_AFTER_MS;
  const within = (ms: number) => fatesBetween(ledgers, until - ms, until);
  const burn = ({ us, others, missed }: FateCounts) =>
    missed === 0 ? 0 : missed / (us + others + missed) / (1 - objective);

  const counts = fatesBetween(ledgers, now - 30 * DAY_MS, now);
  const accepted = counts.us + counts.others;
  const promised = accepted + counts.missed;
  const hour = within(HOUR_MS);
  return {
    objective,
    counts,
    attainment: promised === 0 ? undefined : accepted / promised,
    budgetLeft: 1 - burn(counts),
    fastBurn: hour.missed < FAST_BURN_FLOOR ? 0 : Math.min(burn(hour), burn(within(15 * MINUTE_MS))),
    slowBurn: burn(within(3 * DAY_MS)),
    missedLately: hour.missed,
    day: dayState(within(DAY_MS), waitsOfDay(ledgers, now)),
  };
}

/**
 * Seconds within which 5 %, 10 % … 100 % of the approved requests of the last 24 hours were approved; empty without
 * any. Pure.
 */
export function waitDistribution(ledgers: readonly SloLedger[], now: number): readonly number[] {
  const waits = waitsOfDay(ledgers, now);
  return SHARES.flatMap((share) => boundOf(waits, share) ?? []);
}

function waitsOfDay(ledgers: readonly SloLedger[], now: number): readonly number[] {
  const until = now - TOLD_AFTER_MS;
  return waitsBetween(ledgers, until - DAY_MS, until);
}

function dayState(counts: FateCounts, waits: readonly number[]): DayState {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    counts,
    accepted: all === 0 ? undefined : (counts.us + counts.others) / all,
    p50Seconds: boundOf(waits, 50),
    p95Seconds: boundOf(waits, 95),
  };
}

/** The bound within which this percentage waited. */
function boundOf(waits: readonly number[], percent: number): number | undefined {
  const all = waits.reduce((sum, count) => sum + count, 0);
  let sum = 0;
  for (const [n, bound] of WAIT_BOUNDS.entries()) {
    sum += waits[n] ?? 0;
    if (sum > 0 && sum * 100 >= percent * all) return bound;
  }
  return undefined;
}
