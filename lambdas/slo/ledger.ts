import {
  type FateRow,
  type OpenRow,
  type SloLedger,
  type ToldRow,
  WAIT_BOUNDS,
  type WaitRow,
} from '../contracts/fates.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';
import { FATES, type FateCounts, toldMinutes } from './fates.ts';

/** Minutes, like all lengths here. */
const HOUR = 60;
const DAY = 24 * HOUR;
/** A sweep covers the last hour, its outcome waits in its queue for at most 15 minutes, and clocks differ. */
const OPEN = 90;
/** Windows end 16 minutes ago, and an hour counts for the window in which it begins. */
const HOURS_KEPT = 3 * DAY + HOUR;
const WAITS_KEPT = DAY + HOUR;
const DAYS_KEPT = 31 * DAY;

/**
 * Folds an outcome made at `lookedAt` into the ledger. Pure. The result does not depend on order, repetition or
 * batching, as long as each outcome arrives before its minutes are closed: of each minute the earliest sweep counts, of
 * two at the same time the worse one. The waits of a request are the same in every sweep that still shows it, so of a
 * minute's waits the largest counts are kept.
 *
 * Minutes that could not be determined at `lookedAt`, and closed minutes, are ignored.
 *
 * @param rows of one sweep; empty if it found no request
 * @param lookedAt when the sweep began; milliseconds since the epoch, as `now`
 */
export function foldFates(
  ledger: SloLedger | undefined,
  rows: readonly ToldRow[],
  lookedAt: number,
  now: number,
): SloLedger {
  const before = ledger ?? { open: [], hours: [], days: [], since: lookedAt, closedBefore: 0 };
  const closedBefore = Math.max(before.closedBefore, Math.floor(now / MINUTE_MS) - OPEN);
  const since = Math.min(before.since, lookedAt);
  const { first, end } = toldMinutes(lookedAt);
  const open = new Map(before.open.map((row) => [row[0], row]));
  const waits = new Map(before.waits?.open.map((row) => [row[0], row]));
  for (const [minute, us, others, missed, refused, unprovable, ...waited] of rows) {
    if (minute < Math.max(first, closedBefore) || minute >= end) continue;
    const looked: OpenRow = [minute, us, others, missed, refused, unprovable, lookedAt];
    const known = open.get(minute);
    if (known === undefined || isBetter(known, looked)) open.set(minute, looked);
    const most = waits.get(minute) ?? [];
    if (waited.length > 0) waits.set(minute, [minute, ...waited.map((count, n) => Math.max(count, most[n + 1] ?? 0))]);
  }

  // What is kept depends only on the latest `now`, not on the number of calls.
  const latest = closedBefore + OPEN;
  const isOpen = ([minute]: WaitRow) => minute >= closedBefore;
  const isClosed = ([minute]: WaitRow) => minute < closedBefore && minute * MINUTE_MS >= since;
  const minutes = [...open.values()].toSorted(([a], [b]) => a - b);
  const closed = minutes.filter(isClosed).map(([minute, ...counts]): FateRow => [minute, ...fatesOf(counts)]);
  const hours = Map.groupBy(added(before.hours, closed, HOUR), ([hour]) => hour * HOUR < latest - HOURS_KEPT);
  const waiting = [...waits.values()].toSorted(([a], [b]) => a - b);
  const kept: SloLedger['waits'] = {
    open: waiting.filter(isOpen),
    hours: added(before.waits?.hours ?? [], waiting.filter(isClosed), HOUR).filter(
      ([hour]) => hour * HOUR >= latest - WAITS_KEPT,
    ),
  };
  return {
    open: minutes.filter(isOpen),
    hours: hours.get(false) ?? [],
    days: added(before.days, hours.get(true) ?? [], DAY / HOUR).filter(([day]) => day * DAY >= latest - DAYS_KEPT),
    ...(kept.open.length + kept.hours.length > 0 ? { waits: kept } : {}),
    since,
    closedBefore,
  };
}

/** The requests made from `from` (inclusive) to `until`; hours and days count if they begin in it. Pure. */
export function fatesBetween(ledgers: readonly SloLedger[], from: number, until: number): FateCounts {
  const sums = FATES.map(() => 0);
  for (const { open, hours, days, since } of ledgers) {
    sumUp(sums, open, { unit: MINUTE_MS, from: Math.max(from, since), until });
    sumUp(sums, hours, { unit: HOUR_MS, from, until });
    sumUp(sums, days, { unit: DAY_MS, from, until });
  }
  const [us, others, missed, refused, unprovable] = fatesOf(sums);
  return { us, others, missed, refused, unprovable };
}

/** How many of them waited up to each of `WAIT_BOUNDS` for their approval; kept for a day only. Pure. */
export function waitsBetween(ledgers: readonly SloLedger[], from: number, until: number): readonly number[] {
  const sums = WAIT_BOUNDS.map(() => 0);
  for (const { waits, since } of ledgers) {
    sumUp(sums, waits?.open ?? [], { unit: MINUTE_MS, from: Math.max(from, since), until });
    sumUp(sums, waits?.hours ?? [], { unit: HOUR_MS, from, until });
  }
  return sums;
}

interface Window {
  /** Length of the periods. Milliseconds. */
  readonly unit: number;
  readonly from: number;
  readonly until: number;
}

function sumUp(sums: number[], rows: readonly WaitRow[], { unit, from, until }: Window): void {
  for (const row of rows)
    if (row[0] * unit >= from && row[0] * unit < until) for (const n of sums.keys()) sums[n]! += row[n + 1] ?? 0;
}

function fatesOf([us = 0, others = 0, missed = 0, refused = 0, unprovable = 0]: readonly number[]) {
  return [us, others, missed, refused, unprovable] as const;
}

/**
 * Whether a second sweep replaces the first one of a minute: it was earlier. Two at the same time are a bug or a
 * repetition; then the worse result counts.
 */
function isBetter(known: OpenRow, looked: OpenRow): boolean {
  const later = looked[6] - known[6] || known[3] - looked[3];
  return later < 0 || (later === 0 && String(looked) < String(known));
}

/** Sums `ratio` finer rows into one coarser row, in order; no finer row may be older than the coarser ones. */
function added<Row extends WaitRow>(rows: readonly Row[], finer: readonly Row[], ratio: number): readonly Row[] {
  const sums = new Map(rows.map((row) => [row[0], row]));
  for (const [period, ...counts] of finer) {
    if (counts.every((count) => count === 0)) continue;
    const start = Math.floor(period / ratio);
    const had = sums.get(start) ?? [];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as long as the finer ones
    sums.set(start, [start, ...counts.map((count, n) => count + (had[n + 1] ?? 0))] as readonly number[] as Row);
  }
  return [...sums.values()];
}
