import type { FateRow, SloLedger } from '../contracts/fates.ts';
import { CLOCKS_DIFFER_MS, MINUTE_MS } from '../time.ts';
import { type FateCounts, toldMinutes } from './fates.ts';

type OpenRow = SloLedger['open'][number];

/** In minutes, as all lengths here. */
const HOUR = 60;
const DAY = 24 * HOUR;
/** A look tells of the last hour, its outcome waits in its queue for 15 minutes at most, and clocks differ by some. */
const OPEN = 90;
/** Windows end 16 minutes ago, and an hour counts for the one it begins in. */
const HOURS_KEPT = 3 * DAY + HOUR;
const DAYS_KEPT = 31 * DAY;
/** Of a ledger that has to be small. */
const SPAN_HOURS = 6;
const SPAN_DAYS = 8;
/** Far more than a cluster makes in a minute, and so few that 30 days of them are a safe integer. */
const MOST = 1_000_000_000;

/**
 * The ledger after an outcome that was made at `lookedAt`. Pure. Any order, repetition and batching of the same outcomes gives the same ledger, as long
 * as each comes before its minutes are closed: of each minute the earliest look is kept, and of two at the same time the worse.
 *
 * Ignored are minutes that nobody could tell of at `lookedAt`, minutes that are closed, and looks more than ten minutes ahead of `now`.
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
  const isBelievable = lookedAt - now <= CLOCKS_DIFFER_MS;
  const closedBefore = Math.max(ledger?.closedBefore ?? 0, Math.floor(now / MINUTE_MS) - OPEN);
  const open = new Map<number, OpenRow>(ledger?.open.map((row) => [row[0], row]));
  const { first, end } = toldMinutes(lookedAt);
  for (const row of isBelievable ? rows : []) {
    const [minute] = row;
    if (!Number.isInteger(minute) || minute < Math.max(first, closedBefore) || minute >= end) continue;
    const [, us, others, missed, refused, unprovable] = row;
    const looked: OpenRow = [
      minute,
      bounded(us),
      bounded(others),
      bounded(missed),
      bounded(refused),
      bounded(unprovable),
      lookedAt,
    ];
    const known = open.get(minute);
    if (known === undefined || counts(looked, known)) open.set(minute, looked);
  }
  const look = isBelievable ? lookedAt : now;
  const since = ledger === undefined ? look : ledger.since === undefined ? undefined : Math.min(ledger.since, look);
  return close({ open, hours: ledger?.hours ?? [], days: ledger?.days ?? [], since }, closedBefore);
}

/** The requests that were made from `from` (inclusive) to `until`; of folded hours and days those that begin in it. Pure. */
export function fatesBetween(ledger: SloLedger | undefined, from: number, until: number): FateCounts {
  const sum = { us: 0, others: 0, missed: 0, refused: 0, unprovable: 0 };
  if (ledger === undefined) return sum;
  const add = (rows: readonly (FateRow | OpenRow)[], minutes: number, begin: number) => {
    for (const row of rows) {
      const at = row[0] * minutes * MINUTE_MS;
      if (at < begin || at >= until) continue;
      const [, us, others, missed, refused, unprovable] = row;
      sum.us += us;
      sum.others += others;
      sum.missed += missed;
      sum.refused += refused;
      sum.unprovable += unprovable;
    }
  };
  add(ledger.open, 1, Math.max(from, ledger.since ?? from));
  add(ledger.hours, HOUR, from);
  add(ledger.days, DAY, from);
  return sum;
}

/**
 * The same counts in few rows: minutes are closed, and all but the last hours and days are told in spans. What was told stays told: minutes that are closed here
 * count no second time. Pure; twice is once.
 */
export function coarsened(ledger: SloLedger): SloLedger {
  const { open, since = 0, closedBefore = 0 } = ledger;
  const told = open.filter(([minute]) => minute * MINUTE_MS >= since);
  const hours = folded(ledger.hours, told, HOUR);
  const recent = Math.floor((hours.at(-1)?.[0] ?? 0) / SPAN_HOURS) * SPAN_HOURS;
  return {
    ...ledger,
    open: [],
    hours: [
      ...inSpans(
        hours.filter(([hour]) => hour < recent),
        SPAN_HOURS,
      ),
      ...hours.filter(([hour]) => hour >= recent),
    ],
    days: inSpans(ledger.days, SPAN_DAYS),
    closedBefore: Math.max(closedBefore, ...open.map(([minute]) => minute + 1)),
  };
}

/** Each span is told as its first hour or day. */
function inSpans(rows: readonly FateRow[], units: number): readonly FateRow[] {
  return folded([], rows, units).map(([span, ...counted]) => [span * units, ...counted]);
}

/** Whether a look is the one that counts. A tie is a bug or a repetition; then nothing gets better by it. */
function counts(looked: OpenRow, known: OpenRow): boolean {
  if (looked[6] !== known[6]) return looked[6] < known[6];
  if (looked[3] !== known[3]) return looked[3] > known[3];
  const at = looked.findIndex((value, index) => value !== known[index]);
  return at !== -1 && (looked[at] ?? 0) < (known[at] ?? 0);
}

/** Folds what is over: minutes into hours, hours into days. What is kept follows from the latest `now` alone, not from how often this was done. */
function close(
  ledger: {
    readonly open: ReadonlyMap<number, OpenRow>;
    readonly hours: readonly FateRow[];
    readonly days: readonly FateRow[];
    readonly since: number | undefined;
  },
  closedBefore: number,
): SloLedger {
  const { since } = ledger;
  const latest = closedBefore + OPEN;
  const all = [...ledger.open.values()].toSorted(byUnit);
  const closed = all.filter(([minute]) => minute < closedBefore && minute * MINUTE_MS >= (since ?? 0));
  const hours = folded(ledger.hours, closed, HOUR);
  const isOld = ([hour]: FateRow) => hour * HOUR < latest - HOURS_KEPT;
  const days = folded(ledger.days, hours.filter(isOld), DAY / HOUR);
  return {
    open: all.filter(([minute]) => minute >= closedBefore),
    hours: hours.filter((hour) => !isOld(hour)),
    days: days.filter(([day]) => day * DAY >= latest - DAYS_KEPT),
    since,
    closedBefore,
  };
}

/** Adds finer rows to those they belong to, `ratio` of them to one. */
function folded(rows: readonly FateRow[], finer: readonly (FateRow | OpenRow)[], ratio: number): readonly FateRow[] {
  if (finer.length === 0) return rows;
  const byStart = new Map(rows.map((row) => [row[0], row]));
  for (const [unit, ...more] of finer) {
    const [us, others, missed, refused, unprovable] = more;
    if (us + others + missed + refused + unprovable === 0) continue;
    const start = Math.floor(unit / ratio);
    const had = byStart.get(start) ?? [start, 0, 0, 0, 0, 0];
    byStart.set(start, [start, had[1] + us, had[2] + others, had[3] + missed, had[4] + refused, had[5] + unprovable]);
  }
  return [...byStart.values()].toSorted(byUnit);
}

function byUnit([a]: FateRow | OpenRow, [b]: FateRow | OpenRow): number {
  return a - b;
}

/** Rows come by way of a queue: no count may spoil the sums of a month. */
function bounded(count: number): number {
  return Number.isFinite(count) && count > 0 ? Math.min(Math.floor(count), MOST) : 0;
}
