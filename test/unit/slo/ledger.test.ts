import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FateRow, type SloLedger, type ToldRow, WAIT_BOUNDS } from '../../../lambdas/contracts/fates.ts';
import { type FateCounts, toldMinutes } from '../../../lambdas/slo/fates.ts';
import { fatesBetween, foldFates, waitsBetween } from '../../../lambdas/slo/ledger.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const minuteAt = (ms: number) => Math.floor(ms / MINUTE);
/** The minute that began so many minutes before NOW. */
const ago = (minutes: number) => minuteAt(NOW) - minutes;
const row = (minute: number, us: number, missed = 0): FateRow => [minute, us, 0, missed, 0, 0];
/** As a sweep tells, of requests that certmarshal approved within the first bounds. */
const waited = (minute: number, ...counts: readonly number[]): ToldRow => [
  ...row(
    minute,
    counts.reduce((sum, count) => sum + count, 0),
  ),
  ...waitsOf(minute, ...counts).slice(1),
];
const waitsOf = (period: number, ...counts: readonly number[]) =>
  [period, ...WAIT_BOUNDS.map((_, n) => counts[n] ?? 0)] as const;
const all = (ledger: SloLedger): FateCounts => fatesBetween([ledger], 0, Number.POSITIVE_INFINITY);
const NONE: FateCounts = { us: 0, others: 0, missed: 0, refused: 0, unprovable: 0 };

/** A ledger that has watched for long. */
const WATCHED: SloLedger = { open: [], hours: [], days: [], since: 0, closedBefore: 0 };

describe('toldMinutes', () => {
  it.each([
    ['on a minute', 0, 60, 16],
    ['just before', -1, 60, 17],
    ['just after', 1, 59, 16],
    ['within', 30_000, 59, 16],
  ])('%s: the whole minute was made 15 to 60 minutes ago', (_, shift, oldest, youngest) => {
    expect(toldMinutes(NOW + shift)).toEqual({ first: ago(oldest), end: ago(youngest) + 1 });
  });
});

describe('foldFates', () => {
  it.each<[string, number, boolean]>([
    ['the oldest that can be seen', 60, true],
    ['one that may be cleaned up', 61, false],
    ['the youngest whose 15 minutes are over', 16, true],
    ['one that still waits', 15, false],
    ['one of the future', -10, false],
  ])('counts %s: %i minutes ago', (_, minutes, counted) => {
    expect(all(foldFates(WATCHED, [row(ago(minutes), 1)], NOW, NOW)).us).toBe(counted ? 1 : 0);
  });

  it('keeps the first look at each minute, whichever comes first', () => {
    const early = { rows: [row(ago(20), 3), row(ago(19), 0)], at: NOW };
    const late = { rows: [row(ago(20), 2, 1), row(ago(19), 5), row(ago(18), 1)], at: NOW + 60_000 };
    for (const looks of [
      [early, late],
      [late, early],
      [late, early, late, early],
    ]) {
      const ledger = looks.reduce<SloLedger>((last, { rows, at }) => foldFates(last, rows, at, NOW + 120_000), WATCHED);
      expect(ledger.open).toEqual([
        [...row(ago(20), 3), NOW],
        [...row(ago(19), 0), NOW],
        [...row(ago(18), 1), NOW + 60_000],
      ]);
    }
  });

  it('takes the worse of two looks of the same moment', () => {
    const [good, bad] = [row(ago(20), 9, 1), row(ago(20), 1, 2)];
    for (const rows of [[good], [bad]])
      expect(all(foldFates(foldFates(WATCHED, rows, NOW, NOW), [good, bad], NOW, NOW)).missed).toBe(2);
    // Neither is worse: still the same one in whatever order.
    const [few, many] = [row(ago(20), 1, 2), row(ago(20), 8, 2)];
    expect(foldFates(WATCHED, [few, many], NOW, NOW)).toEqual(foldFates(WATCHED, [many, few], NOW, NOW));
  });

  it('does not count what was asked before the first look, which may come later than others', () => {
    const rows = [row(ago(20), 0, 5), row(ago(19), 0, 7)];
    const added = foldFates(undefined, rows, NOW, NOW);
    expect(added).toMatchObject({ since: NOW, open: [{}, {}] });
    expect(all(added)).toEqual(NONE);
    expect(all(foldFates(added, [], NOW - 19 * MINUTE, NOW))).toEqual({ ...NONE, missed: 7 });
    // Nor once it is closed.
    expect(all(foldFates(added, [], NOW + 2 * HOUR, NOW + 2 * HOUR))).toEqual(NONE);
  });

  it('folds minutes into hours and hours into days, and forgets after 30 days', () => {
    const minute = ago(20);
    let ledger = foldFates(WATCHED, [row(minute, 4, 1), row(ago(30), 0)], NOW, NOW);
    const later = (ms: number) => {
      ledger = foldFates(ledger, [], NOW + ms, NOW + ms);
      return { open: ledger.open.length, hours: ledger.hours, days: ledger.days };
    };
    expect(later(70 * MINUTE)).toMatchObject({ open: 1, hours: [] });
    expect(later(71 * MINUTE)).toEqual({ open: 0, hours: [row(Math.floor(minute / 60), 4, 1)], days: [] });
    expect(later(3 * DAY)).toMatchObject({ hours: [{}], days: [] });
    expect(later(3 * DAY + HOUR)).toEqual({ open: 0, hours: [], days: [row(Math.floor(minute / 1440), 4, 1)] });
    expect(later(30 * DAY)).toMatchObject({ days: [{}] });
    expect(later(32 * DAY)).toEqual({ open: 0, hours: [], days: [] });
  });

  it('does not open a closed minute again for a writer whose clock is behind', () => {
    const look = [row(ago(20), 1)];
    const closed = foldFates(foldFates(WATCHED, look, NOW, NOW), [], NOW + 2 * HOUR, NOW + 2 * HOUR);
    expect(all(foldFates(closed, look, NOW, NOW)).us).toBe(1);
  });

  it('keeps of each minute the most that waited, whichever look comes first, and sums hours of a day up', () => {
    const early = { rows: [waited(ago(20), 3, 0, 1)], at: NOW };
    const late = { rows: [waited(ago(20), 2, 1), row(ago(18), 1)], at: NOW + 60_000 };
    for (const looks of [
      [early, late],
      [late, early],
      [late, early, late, early],
    ]) {
      const ledger = looks.reduce<SloLedger>((last, { rows, at }) => foldFates(last, rows, at, NOW + 120_000), WATCHED);
      expect(ledger.waits).toEqual({ open: [waitsOf(ago(20), 3, 1, 1)], hours: [] });
    }
    const hour = Math.floor(ago(20) / 60);
    let ledger = foldFates(WATCHED, [waited(ago(20), 3, 0, 1), waited(ago(19), 1)], NOW, NOW);
    const later = (ms: number) => {
      ledger = foldFates(ledger, [], NOW + ms, NOW + ms);
      return ledger.waits;
    };
    expect(later(2 * HOUR)).toEqual({ open: [], hours: [waitsOf(hour, 4, 0, 1)] });
    expect(later(DAY)).toEqual({ open: [], hours: [waitsOf(hour, 4, 0, 1)] });
    expect(later(DAY + 2 * HOUR)).toBeUndefined();
  });

  it('counts no wait of before the first look, nor one that comes when its minute is closed', () => {
    const added = foldFates(undefined, [waited(ago(20), 3)], NOW, NOW);
    expect(waitsBetween([added], 0, NOW)).toEqual(waitsOf(0).slice(1));
    const closed = foldFates(foldFates(WATCHED, [], NOW + 2 * HOUR, NOW + 2 * HOUR), [waited(ago(20), 1)], NOW, NOW);
    expect(closed.waits).toBeUndefined();
  });

  it('keeps sums exact, and a ledger in 24 kB, when every minute has as much as a sweep may tell', () => {
    const largest = (minute: number): ToldRow =>
      [minute, ...Array.from({ length: 5 }, () => 1e7), ...WAIT_BOUNDS.map(() => 1e7)] as unknown as ToldRow;
    let ledger: SloLedger = WATCHED;
    for (let at = NOW; at < NOW + 40 * DAY; at += 40 * MINUTE) {
      const { first, end } = toldMinutes(at);
      ledger = foldFates(
        ledger,
        Array.from({ length: end - first }, (_, index) => largest(first + index)),
        at,
        at,
      );
    }
    expect(ledger.open.length).toBeLessThanOrEqual(90);
    expect(ledger.hours.length).toBeLessThanOrEqual(75);
    expect(ledger.days.length).toBeLessThanOrEqual(32);
    for (const sum of Object.values(all(ledger))) expect(sum).toSatisfy(Number.isSafeInteger);
    expect(all(ledger).missed).toBeGreaterThan(30 * 1440 * 1e7);
    expect(ledger.waits?.hours.length).toBeLessThanOrEqual(26);
    expect(JSON.stringify({ ...ledger, waits: undefined }).length).toBeLessThan(12_000);
    expect(JSON.stringify(ledger).length).toBeLessThan(24_000);
  });

  interface Delivery {
    readonly rows: readonly ToldRow[];
    readonly lookedAt: number;
    readonly deliveredAt: number;
  }

  const count = fc.oneof({ weight: 8, arbitrary: fc.nat(5) }, { weight: 1, arbitrary: fc.nat(1e7) });
  const looks = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 4 * DAY }).map((ms) => NOW + ms),
      delays: fc.array(fc.integer({ min: 0, max: 15 * MINUTE }), { minLength: 1, maxLength: 3 }),
      rows: fc.array(
        fc.tuple(
          fc.tuple(fc.integer({ min: 0, max: 70 }), count, count, count, count, count),
          fc.oneof(fc.constant([]), fc.array(count, { minLength: WAIT_BOUNDS.length, maxLength: WAIT_BOUNDS.length })),
        ),
        { maxLength: 6 },
      ),
    }),
    { maxLength: 12 },
  );
  const deliveriesOf = (given: typeof looks extends fc.Arbitrary<infer T> ? T : never): Delivery[] =>
    given
      .flatMap(({ at, delays, rows }) =>
        delays.map((delay) => ({
          lookedAt: at,
          deliveredAt: at + delay,
          rows: rows.map(([[age, ...counts], waits]): ToldRow => [minuteAt(at) - age, ...counts, ...waits]),
        })),
      )
      .toSorted((a, b) => a.deliveredAt - b.deliveredAt);

  it('gives one ledger for every order, repetition and batching, and counts each minute once', () => {
    const end = NOW + 5 * DAY;
    fc.assert(
      fc.property(looks, fc.array(fc.nat(1_000)), fc.boolean(), (given, order, crash) => {
        const deliveries = deliveriesOf(given);
        const inOrder = deliveries.reduce<SloLedger>(
          (ledger, { rows, lookedAt, deliveredAt }) => foldFates(ledger, rows, lookedAt, deliveredAt),
          WATCHED,
        );

        // Batches of what waits in the queue, shuffled; a batch that was folded and not written comes again.
        let ledger: SloLedger = WATCHED;
        let next = 0;
        for (let turn = 0; next < deliveries.length; turn += 1) {
          const now = deliveries[next]?.deliveredAt ?? 0;
          const size = 1 + ((order[turn] ?? 0) % 4);
          const batch = deliveries
            .slice(next, next + size)
            .filter(({ deliveredAt }) => deliveredAt - now <= 5 * MINUTE);
          next += batch.length;
          const written = Math.max(...batch.map(({ deliveredAt }) => deliveredAt));
          const shuffled = batch.toSorted((a, b) => (a.lookedAt % 7) - (b.lookedAt % 7));
          const fold = (from: SloLedger, some: readonly Delivery[]) =>
            some.reduce((last, { rows, lookedAt }) => foldFates(last, rows, lookedAt, written), from);
          if (crash) fold(ledger, shuffled.slice(1));
          ledger = fold(fold(ledger, shuffled), crash ? shuffled : []);
        }
        expect(foldFates(ledger, [], end, end)).toEqual(foldFates(inOrder, [], end, end));

        // By hand: of each minute the first look that could tell it.
        const first = new Map<number, { readonly lookedAt: number; readonly rows: ToldRow[] }>();
        const most = new Map<number, readonly number[]>();
        for (const { lookedAt, rows } of deliveries)
          for (const told of rows) {
            const start = told[0] * MINUTE;
            if (start < lookedAt - HOUR || start + MINUTE > lookedAt - 15 * MINUTE) continue;
            const waits = told.slice(6);
            most.set(
              told[0],
              WAIT_BOUNDS.map((_, n) => Math.max(most.get(told[0])?.[n] ?? 0, waits[n] ?? 0)),
            );
            const known = first.get(told[0]);
            if (known === undefined || lookedAt < known.lookedAt) first.set(told[0], { lookedAt, rows: [told] });
            else if (lookedAt === known.lookedAt) known.rows.push(told);
          }
        const missed = [...first.values()].map(({ rows }) => Math.max(...rows.map((told) => told[3])));
        expect(all(ledger).missed).toBe(missed.reduce((sum, each) => sum + each, 0));

        // And of the waits of each minute the most, for a day.
        const latest = Math.max(NOW, ...deliveries.map(({ deliveredAt }) => deliveredAt));
        const [from, until] = [latest - DAY, Number.POSITIVE_INFINITY];
        const sums = WAIT_BOUNDS.map((_, n) =>
          [...most]
            .filter(([minute]) => {
              const closed = minute < minuteAt(latest) - 90;
              return (closed ? Math.floor(minute / 60) * HOUR : minute * MINUTE) >= from;
            })
            .reduce((sum, [, counts]) => sum + (counts[n] ?? 0), 0),
        );
        expect(waitsBetween([ledger], from, until)).toEqual(sums);
      }),
      { seed: 4, numRuns: 300 },
    );
  });
});

describe('fatesBetween', () => {
  const ledger: SloLedger = {
    ...WATCHED,
    open: [[...row(ago(20), 1), NOW]],
    hours: [row(Math.floor(ago(180) / 60), 10)],
    days: [row(Math.floor(ago(5 * 1440) / 1440), 100)],
  };
  const hour = Math.floor(ago(180) / 60) * HOUR;
  const day = Math.floor(ago(5 * 1440) / 1440) * DAY;

  it.each<[string, number, number, number]>([
    ['everything', 0, NOW, 111],
    ['from a minute on', ago(20) * MINUTE, NOW, 1],
    ['from just after its begin', ago(20) * MINUTE + 1, NOW, 0],
    ['until a minute', 0, ago(20) * MINUTE, 110],
    ['from an hour on', hour, NOW, 11],
    ['from just after its begin', hour + 1, NOW, 1],
    ['from a day on', day, NOW, 111],
    ['from just after its begin', day + 1, NOW, 11],
    ['until a day', 0, day, 0],
    ['nothing', NOW, NOW, 0],
  ])('counts %s', (_, from, until, us) => {
    expect(fatesBetween([ledger], from, until)).toEqual({ ...NONE, us });
    expect(fatesBetween([ledger, ledger], from, until)).toEqual({ ...NONE, us: 2 * us });
  });

  it('counts nothing where nothing is known', () => {
    expect(fatesBetween([], 0, NOW)).toEqual(NONE);
  });
});
