import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FateRow, type SloLedger, WAIT_BOUNDS } from '../../../lambdas/contracts/fates.ts';
import { dayWords } from '../../../lambdas/slo/day-words.ts';
import { type SloState, sloState, waitDistribution } from '../../../lambdas/slo/objective.ts';

const MINUTE = 60_000;
const NOW = Date.parse('2026-11-21T12:00:00Z');

type Counts = Partial<Record<'us' | 'others' | 'missed' | 'refused' | 'unprovable', number>>;

const rowOf = (unit: number, { us = 0, others = 0, missed = 0, refused = 0, unprovable = 0 }: Counts): FateRow => [
  unit,
  us,
  others,
  missed,
  refused,
  unprovable,
];
const NOTHING: SloLedger = { open: [], hours: [], days: [], since: 0, closedBefore: 0 };
const minute = (ago: number, counts: Counts): SloLedger => ({
  ...NOTHING,
  open: [[...rowOf(NOW / MINUTE - ago, counts), NOW]],
});
const hour = (ago: number, counts: Counts): SloLedger => ({
  ...NOTHING,
  hours: [rowOf(NOW / MINUTE / 60 - ago, counts)],
});
const day = (ago: number, counts: Counts): SloLedger => ({
  ...NOTHING,
  days: [rowOf(Math.floor(NOW / MINUTE / 1440) - ago, counts)],
});

type Numbers = Pick<SloState, 'attainment' | 'budgetLeft' | 'fastBurn' | 'slowBurn' | 'missedLately'>;

/** What is not said of the burn is 0. */
interface Row extends Partial<Numbers> {
  readonly ledgers: readonly SloLedger[];
}

const TABLE: Readonly<Record<string, Row>> = {
  'no cluster': { ledgers: [] },
  'a cluster in which nobody asked': { ledgers: [NOTHING] },
  'only what is no promise': { ledgers: [minute(20, { refused: 9, unprovable: 9 })] },
  'all accepted': { ledgers: [minute(20, { us: 3, others: 4 })], attainment: 1 },
  'a whole budget': { ledgers: [day(10, { others: 999, missed: 1, refused: 50 })], attainment: 0.999, budgetLeft: 0 },
  'half of it, in two clusters': {
    ledgers: [day(10, { us: 999 }), day(20, { us: 1_000, missed: 1 })],
    attainment: 0.9995,
    budgetLeft: 0.5,
  },
  'two missed of three: nobody is woken up': {
    ledgers: [minute(20, { us: 1, missed: 2 })],
    attainment: 1 / 3,
    budgetLeft: 1 - 2_000 / 3,
    slowBurn: 2_000 / 3,
    missedLately: 2,
  },
  'three missed of four': {
    ledgers: [minute(20, { us: 1, missed: 3 })],
    attainment: 0.25,
    budgetLeft: -749,
    fastBurn: 750,
    slowBurn: 750,
    missedLately: 3,
  },
  'three missed in three clusters of a fleet': {
    ledgers: [minute(20, { missed: 1 }), minute(21, { missed: 1 }), minute(22, { missed: 1, us: 27 })],
    attainment: 0.9,
    budgetLeft: -99,
    fastBurn: 100,
    slowBurn: 100,
    missedLately: 3,
  },
  'missed in the hour, and over since 15 minutes': {
    ledgers: [minute(40, { missed: 5 }), minute(20, { us: 95 })],
    attainment: 0.95,
    budgetLeft: -49,
    fastBurn: 0,
    slowBurn: 50,
    missedLately: 5,
  },
  'worse in the hour than in the 15 minutes': {
    ledgers: [minute(40, { missed: 30 }), minute(20, { us: 98, missed: 2 })],
    attainment: 98 / 130,
    budgetLeft: 1 - (1_000 * 32) / 130,
    fastBurn: 20,
    slowBurn: (1_000 * 32) / 130,
    missedLately: 32,
  },
  'the first minute of the 15': {
    ledgers: [minute(31, { missed: 3 })],
    fastBurn: 1_000,
    slowBurn: 1_000,
    missedLately: 3,
  },
  'the last minute before the 15': {
    ledgers: [minute(32, { missed: 3 })],
    fastBurn: 0,
    slowBurn: 1_000,
    missedLately: 3,
  },
  'the first minute of the hour': { ledgers: [minute(76, { missed: 3 })], slowBurn: 1_000, missedLately: 3 },
  'the last minute before the hour': { ledgers: [minute(77, { missed: 3 })], slowBurn: 1_000, missedLately: 0 },
  'the last minute told': { ledgers: [minute(17, { missed: 3 })], fastBurn: 1_000, slowBurn: 1_000, missedLately: 3 },
  'a minute that cannot be told everywhere': { ledgers: [minute(16, { missed: 3 })] },
  'the first hour of three days': { ledgers: [hour(72, { missed: 3, us: 2_997 })], slowBurn: 1, attainment: 0.999 },
  'the last hour before three days': { ledgers: [hour(73, { missed: 3, us: 2_997 })], slowBurn: 0, attainment: 0.999 },
  'one missed of 3, 2 days ago': { ledgers: [hour(48, { missed: 1, us: 2 })], slowBurn: 1_000 / 3, attainment: 2 / 3 },
  'the first day of the month': { ledgers: [day(29, { missed: 1, us: 1 })], attainment: 0.5, budgetLeft: -499 },
  'the day before': { ledgers: [day(30, { missed: 1, us: 1 })], budgetLeft: 1 },
};

describe('sloState', () => {
  it.each(Object.entries(TABLE))('%s', (_, { ledgers, ...numbers }) => {
    const expected = Object.entries({ fastBurn: 0, slowBurn: 0, missedLately: 0, ...numbers });
    expect(sloState(ledgers, 0.999, NOW)).toMatchObject(
      Object.fromEntries(expected.map(([name, value]) => [name, expect.closeTo(value, 6)])),
    );
  });

  it('has no attainment where nothing was promised, and the whole budget', () => {
    const state = sloState([minute(20, { refused: 9, unprovable: 9 })], 0.999, NOW);
    expect(state).toEqual({
      objective: 0.999,
      counts: { us: 0, others: 0, missed: 0, refused: 9, unprovable: 9 },
      budgetLeft: 1,
      fastBurn: 0,
      slowBurn: 0,
      missedLately: 0,
      day: { counts: { us: 0, others: 0, missed: 0, refused: 9, unprovable: 9 }, accepted: 0 },
    });
  });

  it('gets worse with every missed request, and better with none', () => {
    const counts = fc.record({ us: fc.nat(9), others: fc.nat(9), missed: fc.nat(9) });
    const parts = fc.array(fc.tuple(fc.integer({ min: 17, max: 80 }), counts), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(parts, fc.nat(7), (given, worse) => {
        const state = (add: number) =>
          sloState(
            given.map(([ago, each], index) =>
              minute(ago, index === worse % given.length ? { ...each, missed: each.missed + add } : each),
            ),
            0.99,
            NOW,
          );
        const [before, after] = [state(0), state(1)];
        expect(after.attainment ?? 1).toBeLessThanOrEqual(before.attainment ?? 1);
        expect(after.budgetLeft).toBeLessThanOrEqual(before.budgetLeft);
        expect(after.fastBurn).toBeGreaterThanOrEqual(before.fastBurn);
        expect(after.slowBurn).toBeGreaterThanOrEqual(before.slowBurn);
        expect(after.missedLately).toBeGreaterThanOrEqual(before.missedLately);
      }),
      { seed: 2, numRuns: 300 },
    );
  });
});

describe('the requests of a day', () => {
  const dayOf = (...ledgers: readonly SloLedger[]) => sloState(ledgers, 0.999, NOW).day;

  it.each<[string, readonly SloLedger[], number | undefined]>([
    ['no request', [NOTHING], undefined],
    [
      'all that was asked, whether anything proves it or not',
      [minute(20, { us: 3, others: 3, missed: 1, refused: 1, unprovable: 2 })],
      0.6,
    ],
    ['a fleet without evidence', [minute(20, { unprovable: 4 }), hour(5, { unprovable: 92 })], 0],
    ['the first hour', [hour(24, { us: 1 }), minute(20, { missed: 1 })], 0.5],
    ['not the hour before', [hour(25, { us: 1 }), minute(20, { missed: 1 })], 0],
    ['the last minute that can be told', [minute(17, { us: 1 })], 1],
    ['not the one after it', [minute(16, { us: 1 })], undefined],
    ['not the days before', [day(3, { us: 1 })], undefined],
  ])('counts %s', (_, ledgers, accepted) => {
    expect(dayOf(...ledgers).accepted).toBe(accepted);
  });

  /** As many of the bounds, of one hour each. */
  const waiting = (
    ...counts: readonly (readonly [bound: (typeof WAIT_BOUNDS)[number], count: number])[]
  ): SloLedger => ({
    ...NOTHING,
    waits: {
      open: [],
      hours: counts.map(([bound, count], n) => [
        NOW / MINUTE / 60 - 1 - n,
        ...WAIT_BOUNDS.map((one) => (one === bound ? count : 0)),
      ]),
    },
  });

  it.each<[string, readonly SloLedger[], number | undefined, number | undefined]>([
    ['nothing', [NOTHING], undefined, undefined],
    ['one', [waiting([15, 1])], 15, 15],
    ['half and half', [waiting([1, 10], [60, 10])], 1, 60],
    ['one more than half', [waiting([1, 10], [60, 11])], 60, 60],
    ['exactly 95 of 100', [waiting([5, 95], [900, 5])], 5, 5],
    ['94 of 100', [waiting([5, 94], [900, 6])], 5, 900],
    ['two clusters', [waiting([5, 9]), waiting([180, 11])], 180, 180],
    ['more than a kubelet waits', [waiting([3_600, 3])], 3_600, 3_600],
  ])('waited, of %s', (_, ledgers, p50Seconds, p95Seconds) => {
    expect(dayOf(...ledgers)).toMatchObject(
      Object.fromEntries(Object.entries({ p50Seconds, p95Seconds }).filter(([, value]) => value !== undefined)),
    );
    expect(dayOf(...ledgers).p50Seconds).toBe(p50Seconds);
  });

  it('never waited less for 95 % than for half, and not less with one more that waited longest', () => {
    const counts = fc.array(fc.tuple(fc.constantFrom(...WAIT_BOUNDS), fc.nat(1e9)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(counts, (given) => {
        const { p50Seconds = 0, p95Seconds = 0 } = dayOf(waiting(...given));
        const waits = waitDistribution([waiting(...given)], NOW);
        expect(p95Seconds).toBeGreaterThanOrEqual(p50Seconds);
        expect(waits).toEqual(waits.toSorted((x, y) => x - y));
        expect([waits[9] ?? 0, waits[18] ?? 0]).toEqual([p50Seconds, p95Seconds]);
        const later = dayOf(waiting(...given), waiting([3_600, 1]));
        expect(later.p50Seconds).toBeGreaterThanOrEqual(p50Seconds);
        expect(later.p95Seconds).toBeGreaterThanOrEqual(p95Seconds);
      }),
      { seed: 12, numRuns: 300 },
    );
  });

  it.each([
    ['none', dayOf(NOTHING), 0, undefined, '0 without proof, 0 missed, 0 hostile'],
    [
      'some that waited',
      { counts: { us: 4, others: 2, missed: 1, refused: 2, unprovable: 3 }, p50Seconds: 30, p95Seconds: 900 },
      12,
      '50 %',
      '3 without proof, 1 missed, 2 hostile; half approved within 30 s, 95 % within 15 minutes',
    ],
    [
      'some that waited for long',
      { counts: { us: 0, others: 1, missed: 0, refused: 0, unprovable: 0 }, p50Seconds: 60, p95Seconds: 3_600 },
      1,
      '100 %',
      '0 without proof, 0 missed, 0 hostile; half approved within 1 minute, 95 % within 60 minutes',
    ],
  ])('are told: %s', (_, state, requests, accepted, details) => {
    expect(dayWords(state)).toEqual({ requests, accepted, details });
  });
});
