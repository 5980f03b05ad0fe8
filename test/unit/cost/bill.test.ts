import { assert, double, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { DEFAULT_AUDIT } from '../../../lambdas/config/fleet.ts';
import { type BillLine, bill, type Deployed, hubAlarms } from '../../../lambdas/cost/bill.ts';
import { MEASURED, type Measured } from '../../../lambdas/cost/measured.ts';
import { PRICE_LIST, PRICES } from '../../../lambdas/cost/prices.ts';
import { HUB_SIZES } from '../../../lambdas/hub-sizes.ts';
import { ALARMS } from '../../../lambdas/tables/alarms.ts';
import { ALWAYS_ON } from '../../../lambdas/telemetry/metric-names.ts';

const DEPLOYED: Deployed = {
  sizes: HUB_SIZES,
  alarms: ALARMS,
  fleetMetrics: ALWAYS_ON.size,
  auditEveryMinutes: DEFAULT_AUDIT.everyMinutes,
};
const MONTH_MINUTES = 730 * 60;

const of = (clusters: number, unwell = 0.02, deployed = DEPLOYED, measured = MEASURED) =>
  bill({ clusters, unwell }, deployed, measured);
/** The quantity of a line. */
function quantity(lines: readonly BillLine[], what: string): number {
  const found = lines.filter((line) => line.what === what);
  if (found.length !== 1) throw new Error(`${found.length} lines ${what}`);
  return found[0]?.quantity ?? Number.NaN;
}

/** A product that does nothing to save. */
const LAVISH: Measured = {
  ...MEASURED,
  wellSweepBytes: 731,
  messagesPerShard: HUB_SIZES.sweep.clusters,
  snapshotWrites: 1,
};

describe('the bill of a month', () => {
  it.each([
    [10, 1.5],
    [100, 0.23],
    [1_000, 0.07],
    [10_000, 0.045],
  ])('of %i clusters stays under $%d a cluster', (clusters, most) => {
    const { perClusterMonthUsd, totalUsd } = of(clusters);
    expect(perClusterMonthUsd).toBeLessThanOrEqual(most);
    expect(perClusterMonthUsd).toBeGreaterThan(most / 2);
    expect(totalUsd).toBeCloseTo(perClusterMonthUsd * clusters, 6);
  });

  it.each([
    [1_000, 0.07],
    [10_000, 0.045],
  ])('of %i clusters does not depend on how full shards are', (clusters, most) => {
    for (let leastFill = 80; leastFill <= 100; leastFill += 1) {
      const sizes = { ...HUB_SIZES, sweep: { ...HUB_SIZES.sweep, leastFill: (leastFill / 100) as never } };
      expect(of(clusters, 0.02, { ...DEPLOYED, sizes }).perClusterMonthUsd).toBeLessThanOrEqual(most);
    }
  });

  it('counts what the definitions say', () => {
    const { lines } = of(1_000);
    expect(quantity(lines, 'the tick')).toBe(MONTH_MINUTES);
    expect(quantity(lines, 'snapshots: read')).toBe((MONTH_MINUTES * 1_000) / 15);
    expect(quantity(lines, 'metrics of clusters that are not healthy')).toBeGreaterThan(0);
    expect(quantity(lines, 'alarms on every cluster')).toBe(40);
    expect(quantity(lines, 'alarms on the hub')).toBe(hubAlarms(ALARMS));
    expect(quantity(lines, 'orders: sent, received, deleted')).toBe(MONTH_MINUTES * (40 * 3 + MEASURED.emptyReceives));
    // 45 messages with outcomes are five requests, and as many that find less.
    expect(quantity(lines, 'outcomes: sent')).toBeCloseTo(MONTH_MINUTES * 45);
    expect(quantity(lines, 'outcomes: received, deleted')).toBeCloseTo(MONTH_MINUTES * (5 + 5 + 5));
    expect(quantity(lines, 'starts of report: sent, received, deleted')).toBe(
      MONTH_MINUTES * (3 + MEASURED.emptyReceives),
    );
    expect(hubAlarms(ALARMS)).toBe(3 + 3 * 4 + 2 + 3);
  });

  it.each<[what: string, deployed: Partial<Deployed>, line: string, factor: number]>([
    ['the audits', { auditEveryMinutes: 30 }, 'snapshots: read', 0.5],
    [
      'the memory of report',
      {
        sizes: { ...HUB_SIZES, report: { ...HUB_SIZES.report, memoryMiB: (HUB_SIZES.report.memoryMiB * 2) as never } },
      },
      'report',
      2,
    ],
    ['the tick', { sizes: { ...HUB_SIZES, tickSeconds: 120 as never } }, 'the tick', 0.5],
    ['the metrics', { fleetMetrics: DEPLOYED.fleetMetrics * 2 }, 'metrics of the fleet', 2],
  ])('follows %s', (_what, deployed, line, factor) => {
    const changed = of(1_000, 0.02, { ...DEPLOYED, ...deployed });
    expect(quantity(changed.lines, line)).toBeCloseTo(quantity(of(1_000).lines, line) * factor, 6);
  });

  it('pays for a metric of the fleet in the hours in which it has a value', () => {
    const what = 'metrics of the fleet, in hours with a value';
    const { auditMetrics, requestMetrics, unwellFleetMetrics } = MEASURED;
    const [one = 0, ten = 0] = [1, 10].map((clusters) => quantity(of(clusters, 0).lines, what));
    expect(one).toBeCloseTo(auditMetrics + requestMetrics * (1 - Math.exp(-MEASURED.journalSweeps / 730)));
    expect(ten).toBeGreaterThan(one);
    expect(quantity(of(1_000, 0).lines, what)).toBeCloseTo(auditMetrics + requestMetrics);
    expect(quantity(of(1_000, 0.0005).lines, what)).toBeCloseTo(auditMetrics + requestMetrics + unwellFleetMetrics / 2);
    expect(quantity(of(1_000, 1).lines, what)).toBeCloseTo(auditMetrics + requestMetrics + unwellFleetMetrics);
  });

  it('has no line of a fleet that is well about clusters that are not', () => {
    expect(
      of(1_000, 0)
        .lines.map(({ what }) => what)
        .join(),
    ).not.toContain('not healthy');
  });

  it('knows that a metric is cheaper above 10,000', () => {
    const { lines } = of(10_000, 1);
    const ofFleet =
      quantity(lines, 'metrics of the fleet') + quantity(lines, 'metrics of the fleet, in hours with a value');
    expect(quantity(lines, 'metrics above 10,000')).toBeCloseTo(ofFleet + 10_000);
  });

  it('sums up, and grows with the clusters, with those that are not well and with the audits', () => {
    const clusters = integer({ min: 1, max: 20_000 });
    const share = double({ min: 0, max: 1, noNaN: true });
    const wrong: unknown[] = [];
    assert(
      property(clusters, integer({ min: 0, max: 500 }), share, share, (n, more, a, b) => {
        const [less, greater] = [Math.min(a, b), Math.max(a, b)];
        for (const measured of [MEASURED, LAVISH]) {
          const one = of(n, less, DEPLOYED, measured);
          const sum = one.lines.reduce((total, { usd }) => total + usd, 0);
          const grows =
            of(n + more, less, DEPLOYED, measured).totalUsd >= one.totalUsd - 1e-9 &&
            of(n, greater, DEPLOYED, measured).totalUsd >= one.totalUsd - 1e-9 &&
            of(n, less, { ...DEPLOYED, auditEveryMinutes: 5 }, measured).totalUsd >= one.totalUsd - 1e-9;
          if (!grows || Math.abs(sum - one.totalUsd) > 1e-9 || one.lines.some(({ usd }) => !(usd >= 0)))
            wrong.push({ n, more, less, greater });
        }
      }),
      { seed: 11, numRuns: 200 },
    );
    expect(wrong).toEqual([]);
  });

  it('calls no two lines of a service the same', () => {
    const names = of(20_000, 1).lines.map(({ service, what }) => `${service}: ${what}`);
    expect(names).toEqual([...new Set(names)]);
  });

  it('has the dearest service first', () => {
    const sums = [...Map.groupBy(of(1_000).lines, ({ service }) => service).values()].map((lines) =>
      lines.reduce((sum, { usd }) => sum + usd, 0),
    );
    expect(sums).toEqual(sums.toSorted((a, b) => b - a));
  });
});

describe('the prices', () => {
  it('say when, where and for what they are', () => {
    expect(PRICE_LIST.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    for (const { usd, per, unit, source } of Object.values(PRICES)) {
      expect(usd).toBeGreaterThan(0);
      expect(per).toBeGreaterThanOrEqual(1);
      expect(unit).not.toBe('');
      expect(source).toMatch(/^https:\/\/aws\.amazon\.com\/[\w-]+\/pricing\//);
    }
  });
});

describe('the bill of 1,000 clusters of which 2 % are not well', () => {
  const usd = (changed: Partial<Measured> = {}, sizes: object = {}) =>
    of(
      1_000,
      0.02,
      { ...DEPLOYED, sizes: { ...HUB_SIZES, sweep: { ...HUB_SIZES.sweep, ...sizes } } },
      { ...MEASURED, ...changed },
    ).totalUsd;

  it.each<[string, Partial<Measured>, number]>([
    ['a log line of every sweep', { wellSweepBytes: LAVISH.wellSweepBytes }, 18],
    ['a message for every outcome', { messagesPerShard: LAVISH.messagesPerShard }, 15],
    ['a snapshot written by every audit', { snapshotWrites: 1 }, 12],
  ])('would be higher with %s', (_, changed, more) => {
    expect(usd(changed) - usd()).toBeGreaterThan(more);
  });

  it('does not depend on how many messages a poller finds, and little on the size of a shard', () => {
    const of10 = usd({}, { clusters: 10 });
    const of50 = usd({}, { clusters: 50 });
    expect(of10 / usd()).toBeGreaterThan(1.1);
    expect(of50 / usd()).toBeGreaterThan(0.85);
  });
});
