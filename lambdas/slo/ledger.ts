import type { FateRow, OpenRow, SloLedger } from '../contracts/fates.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';
import { FATES, type FateCounts, toldMinutes } from './fates.ts';

/** In minutes, as all lengths here. */
const HOUR = 60;
const DAY = 24 * HOUR;
/** A look tells of the last hour, its outcome waits in its queue for 15 minutes at most, and clocks differ by some. */
const OPEN = 90;
/** Windows end 16 minutes ago, and an hour counts for the one it begins in. */
const HOURS_KEPT = 3 * DAY + HOUR;
const DAYS_KEPT = 31 * DAY;

/**
 * The ledger after an outcome that was made at `lookedAt`. Pure. Any order, repetition and batching of the same outcomes gives the same ledger, as long
 * as each comes before its minutes are closed: of each minute the earliest look is kept, and of two at the same time the worse.
 *
 * Ignored are minutes that nobody could tell of at `lookedAt`, and minutes that are closed.
 *
 * @param rows of one look; one that found no request is folded too, with none
 * @param lookedAt when the sweep began; milliseconds since the epoch, as `now`
 */
export function foldFates(
  ledger: SloLedger | undefined,
  rows: readonly FateRow[],
  lookedAt: number,
  now: number,
): SloLedger {
  const before = ledger ?? { open: [], hours: [], days: [], since: lookedAt, closedBefore: 0 };
  const closedBefore = Math.max(before.closedBefore, Math.floor(now / MINUTE_MS) - OPEN);
  const since = Math.min(before.since, lookedAt);
  const { first, end } = toldMinutes(lookedAt);
  const open = new Map(before.open.map((row) => [row[0], row]));
  for (const row of rows) {
    const [minute] = row;
    if (minute < Math.max(first, closedBefore) || minute >= end) continue;
    const looked: OpenRow = [...row, lookedAt];
    const known = open.get(minute);
    if (known === undefined || isBetter(known, looked)) open.set(minute, looked);
  }

  // What is kept follows from the latest `now` alone, not from how often this was done.
  const latest = closedBefore + OPEN;
  const minutes = [...open.values()].toSorted(([a], [b]) => a - b);
  const closed = minutes.filter(([minute]) => minute < closedBefore && minute * MINUTE_MS >= since);
  const hours = Map.groupBy(added(before.hours, closed, HOUR), ([hour]) => hour * HOUR < latest - HOURS_KEPT);
  return {
    open: minutes.filter(([minute]) => minute >= closedBefore),
    hours: hours.get(false) ?? [],
    days: added(before.days, hours.get(true) ?? [], DAY / HOUR).filter(([day]) => day * DAY >= latest - DAYS_KEPT),
    since,
    closedBefore,
  };
}

/** The requests that were made from `from` (inclusive) to `until`; of hours and days those that begin in it. Pure. */
export function fatesBetween(ledgers: readonly SloLedger[], from: number, until: number): FateCounts {
  const counts = { us: 0, others: 0, missed: 0, refused: 0, unprovable: 0 };
  for (const ledger of ledgers)
    for (const [rows, unit, begin] of [
      [ledger.open, MINUTE_MS, Math.max(from, ledger.since)],
      [ledger.hours, HOUR_MS, from],
      [ledger.days, DAY_MS, from],
    ] as const)
      for (const row of rows)
        if (row[0] * unit >= begin && row[0] * unit < until)
          for (const [index, fate] of FATES.entries()) counts[fate] += row[index + 1] ?? 0;
  return counts;
}

/** Whether a second look tells more of a minute: it was earlier. Two of the same time are a bug or a repetition; then nothing gets better by it. */
function isBetter(known: OpenRow, looked: OpenRow): boolean {
  const later = looked[6] - known[6] || known[3] - looked[3];
  return later < 0 || (later === 0 && String(looked) < String(known));
}

/** Adds finer rows to those they belong to, `ratio` of them to one; all in their order, and no finer one is of before. */
function added(rows: readonly FateRow[], finer: readonly (FateRow | OpenRow)[], ratio: number): readonly FateRow[] {
  const sums = new Map(rows.map((row) => [row[0], row]));
  for (const [unit, us, others, missed, refused, unprovable] of finer) {
    if (us + others + missed + refused + unprovable === 0) continue;
    const start = Math.floor(unit / ratio);
    const had = sums.get(start) ?? [start, 0, 0, 0, 0, 0];
    sums.set(start, [start, had[1] + us, had[2] + others, had[3] + missed, had[4] + refused, had[5] + unprovable]);
  }
  return [...sums.values()];
}
