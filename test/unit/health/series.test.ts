import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PublishedSeries } from '../../../lambdas/contracts/fleet-index.ts';
import { GROUP, MAX_CONTRIBUTORS, publishedSeries, type Series, seriesOf } from '../../../lambdas/health/series.ts';
import type { Signal, SignalId } from '../../../lambdas/tables/signals.ts';
import { cluster } from '../notify/values.ts';

const signal = (id: SignalId, value: number, classes?: Signal['classes']): Signal => ({
  id,
  value,
  classes,
  story: 'x',
  command: 'y',
});
const fleetOf = (signals: Readonly<Record<string, readonly Signal[]>>) => ({
  clusters: Object.entries(signals).map(([id, some]) => cluster(id, [...some])),
});
const many = (count: number, one: Signal) =>
  fleetOf(Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, [one]])));

/** Each fleet at its minute; a fleet stays until the next one. */
function story(
  fleets: Readonly<Record<number, ReturnType<typeof fleetOf>>> | readonly ReturnType<typeof fleetOf>[],
  minutes: number,
) {
  let published: readonly PublishedSeries[] = [];
  let now = fleetOf({});
  return Array.from({ length: minutes }, (_, minute) => {
    now = fleets[minute] ?? now;
    const series = seriesOf(now, {}, published);
    published = publishedSeries(series, published);
    return series;
  });
}
const valuesOf = (minutes: readonly (readonly Series[])[], id: string) =>
  minutes.map((series) => series.find(({ cluster: one }) => one === id)?.value);

describe('seriesOf', () => {
  it('has what reaches the threshold of its alarm, each class for itself', () => {
    const fleet = fleetOf({
      a: [signal('UnreadableFor', 599), signal('CertificatesCritical', 3, { 'etcd-server': 2, unknown: 1 })],
      b: [signal('UnreadableFor', 600)],
      c: [signal('CertificatesWarning', 4, { 'etcd-server': 4 })],
    });
    const settings = { CertificateWarning: { threshold: 5, severity: 'warning' } } as const;
    expect(seriesOf(fleet, settings, [])).toEqual([
      { signal: 'CertificatesCritical', cluster: 'a', what: 'etcd-server', value: 2 },
      { signal: 'CertificatesCritical', cluster: 'a', what: 'unknown', value: 1 },
      { signal: 'UnreadableFor', cluster: 'b', value: 600 },
    ]);
  });

  it('is 0 for ten minutes after the last one, also of a cluster that left, and then ends', () => {
    const minutes = story({ 0: many(1, signal('RequestsHostile', 2)), 3: fleetOf({}) }, 15);
    expect(valuesOf(minutes, 'c0')).toEqual([2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, undefined, undefined]);
  });

  it('is one for more than ten clusters, with their number', () => {
    const ten = seriesOf(many(MAX_CONTRIBUTORS, signal('RequestsHostile', 1)), {}, []);
    expect(ten.map((one) => one.cluster)).toEqual(Array.from({ length: 10 }, (_, n) => `c${n}`));
    expect(seriesOf(many(11, signal('RequestsHostile', 1)), {}, [])).toEqual([
      { signal: 'RequestsHostile', cluster: GROUP, value: 11 },
    ]);
    expect(seriesOf(many(11, signal('CertificatesCritical', 1, { 'etcd-ca': 1 })), {}, [])).toEqual([
      { signal: 'CertificatesCritical', cluster: GROUP, what: 'etcd-ca', value: 11 },
    ]);
  });

  it('reaches the threshold as a group too', () => {
    const [group] = seriesOf(many(11, signal('UnreadableFor', 5_000)), {}, []);
    expect(group).toEqual({ signal: 'UnreadableFor', cluster: GROUP, value: 600 });
  });

  it('closes the single ones when they become a group, and the group when they are few again', () => {
    const one = signal('RequestsHostile', 1);
    const minutes = story({ 0: many(1, one), 5: many(500, one), 30: many(5, one), 40: fleetOf({}) }, 60);
    expect(valuesOf(minutes, 'c0').slice(3, 7)).toEqual([1, 1, 0, 0]);
    expect(valuesOf(minutes, GROUP).slice(4, 6)).toEqual([undefined, 500]);
    expect(valuesOf(minutes, 'c0').slice(28, 42)).toEqual([...Array(2).fill(undefined), ...Array(10).fill(1), 0, 0]);
    expect(valuesOf(minutes, GROUP).slice(29, 42)).toEqual([500, ...Array(10).fill(0), undefined, undefined]);
    // 499 of the group never had a series of their own.
    expect(Math.max(...minutes.slice(5, 30).map(({ length }) => length))).toBe(2);
    expect(minutes.at(-1)).toEqual([]);
  });

  it('stays a group while one of its clusters comes and goes', () => {
    const one = signal('RequestsHostile', 1);
    const minutes = story(
      { 0: many(11, one), 5: many(10, one), 10: many(11, one), 15: many(6, one), 20: many(5, one) },
      21,
    );
    expect(valuesOf(minutes, GROUP)).toEqual([
      11,
      11,
      11,
      11,
      11,
      ...Array(5).fill(10),
      ...Array(5).fill(11),
      ...Array(5).fill(6),
      0,
    ]);
    expect(valuesOf(minutes, 'c0').findIndex((value) => value !== undefined)).toBe(20);
  });

  it('never leaves a firing cluster without a series above 0, its own or that of its group, nor has two', () => {
    const counts = fc.array(fc.integer({ min: 0, max: 14 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(counts, (each) => {
        const fleets = each.map((count) => many(count, signal('CertificatesCritical', 1, { 'etcd-ca': 1 })));
        let isGroup = false;
        for (const [minute, series] of story(fleets, each.length).entries()) {
          expect(new Set(series.map((one) => one.cluster)).size).toBe(series.length);
          const above = series.flatMap(({ cluster: id, value }) => (value > 0 ? [id] : []));
          const ids = fleets[minute]?.clusters.map(({ id }) => id) ?? [];
          isGroup = ids.length > (isGroup ? MAX_CONTRIBUTORS / 2 : MAX_CONTRIBUTORS);
          expect(above).toEqual(isGroup ? [GROUP] : ids);
        }
      }),
    );
  });
});
