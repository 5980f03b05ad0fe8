import { type SloLedger, WAIT_BOUNDS } from '../contracts/fates.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';
import { type FateCounts, WAIT_MS } from './fates.ts';
import { fatesBetween, waitsBetween } from './ledger.ts';

/** What a cluster, or the fleet, has reached. */
export interface SloState {
  readonly objective: number;
  /** The last 30 days. */
  readonly counts: FateCounts;
  /** Accepted ÷ (accepted + missed) over them, from 0 to 1; absent when there was none. Rightly refused and unprovable ones are no promise. */
  readonly attainment?: number;
  /** What is left of the requests that may be missed, from 1 down to below 0; 1 where there was none. */
  readonly budgetLeft: number;
  /**
   * How many times faster than allowed the budget was burnt: the less of the last hour and the last 15 minutes that can be told. 0 while fewer than
   * {@link FAST_BURN_FLOOR} requests were missed in the hour.
   */
  readonly fastBurn: number;
  /** Over three days. Every missed request counts. */
  readonly slowBurn: number;
  /** Requests missed in the last hour that can be told. */
  readonly missedLately: number;
  readonly day: DayState;
}

/** The last 24 hours that can be told, by the hour. */
export interface DayState {
  readonly counts: FateCounts;
  /** Accepted ÷ all requests, from 0 to 1, whether anything proves them or not; absent when there was none. Source: KEP-267. */
  readonly accepted?: number;
  /** Within how many seconds of their creation half of the approved requests were approved, and 95 % of them: of `WAIT_BOUNDS`. Absent when there was none. */
  readonly p50Seconds?: number;
  readonly p95Seconds?: number;
}

/** Percent. */
const SHARES = Array.from({ length: 20 }, (_, n) => (n + 1) * 5);

/**
 * Of three requests in an hour one missed is 333 times the burn that 99.9 % allows, and no reason to wake somebody up: the kubelet asks again every 15
 * minutes. Three missed ones are three nodes, or one that waits for most of an hour. What stays below is told by the slow burn.
 */
const FAST_BURN_FLOOR = 3;

/** A minute is over, its requests have waited, and a sweep has looked: what can be told ends here. */
const TOLD_AFTER_MS = WAIT_MS + MINUTE_MS;

/**
 * Pure. What can be told ends about 16 minutes before `now`: younger requests have no fate yet.
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

/** Within how many seconds 5 %, 10 % and so on to 100 % of the approved requests of the last 24 hours were approved: empty when there was none. Pure. */
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

/** Within which bound so many of a hundred waited. */
function boundOf(waits: readonly number[], percent: number): number | undefined {
  const all = waits.reduce((sum, count) => sum + count, 0);
  let sum = 0;
  for (const [n, bound] of WAIT_BOUNDS.entries()) {
    sum += waits[n] ?? 0;
    if (sum > 0 && sum * 100 >= percent * all) return bound;
  }
  return undefined;
}
