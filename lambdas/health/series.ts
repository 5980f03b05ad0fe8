import type { PublishedSeries } from '../contracts/fleet-index.ts';
import { type AlarmSettings, alarmOfSignal, alarmSetting } from '../tables/alarms.ts';
import type { Signal, SignalId } from '../tables/signals.ts';
import type { FleetHealth } from './fleet-health.ts';

/** One series of CloudWatch: a contributor of the alarm on its signal. */
export interface Series {
  readonly signal: SignalId;
  /** Id of the cluster, or {@link GROUP}. */
  readonly cluster: string;
  /** Class of the certificates. */
  readonly what?: string | undefined;
  readonly value: number;
}

/**
 * More clusters than this, at one alarm and class, are one contributor, until half as many are left: one that comes and
 * goes must not close and open ten others. CloudWatch reports 100, and people read fewer.
 */
export const MAX_CONTRIBUTORS = 10;
/** Stands for all clusters of a signal and class. No id of a cluster has this character. */
export const GROUP = '*';
/** At how many ticks a healthy series is published as 0: a contributor without data never closes. */
const MAX_ZEROS = 10;

/**
 * The series to publish at a tick: those that reach the threshold of their alarm, as one where they are many, and 0 for
 * those that did so lately. Pure.
 *
 * @param published at earlier ticks, as the index has it
 */
export function seriesOf(
  { clusters }: Pick<FleetHealth, 'clusters'>,
  settings: AlarmSettings,
  published: readonly PublishedSeries[],
): readonly Series[] {
  const firing = clusters.flatMap(({ id, signals }) =>
    signals.flatMap((signal) =>
      firingRows(signal, settings).map((row) => ({ ...row, signal: signal.id, cluster: id })),
    ),
  );
  const groups = Map.groupBy(firing, ({ signal, what }) => `${signal} ${what}`).values();
  const current = [...groups].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const most = isGrouped(published, first) ? MAX_CONTRIBUTORS / 2 : MAX_CONTRIBUTORS;
    if (same.length <= most) return same;
    // Of seconds, the number alone would not reach the threshold.
    return [{ ...first, cluster: GROUP, value: Math.max(same.length, thresholdOf(first.signal, settings)) }];
  });
  const keys = new Set(current.map(keyOf));
  const closing = published.filter((series) => !keys.has(keyOf(series)) && series.zeros < MAX_ZEROS);
  return [...current, ...closing.map(({ signal, cluster, what }) => ({ signal, cluster, what, value: 0 }))];
}

/** Whether the clusters of a signal and class are one series. */
export function isGrouped(
  published: readonly PublishedSeries[],
  { signal, what }: Pick<Series, 'signal' | 'what'>,
): boolean {
  return published.some(
    (one) => one.cluster === GROUP && one.signal === signal && one.what === what && one.zeros === 0,
  );
}

/** What the next tick must know of these series. Pure. */
export function publishedSeries(
  series: readonly Series[],
  published: readonly PublishedSeries[],
): readonly PublishedSeries[] {
  const before = new Map(published.map((one) => [keyOf(one), one.zeros]));
  return series.map(({ value, ...one }) => ({ ...one, zeros: value > 0 ? 0 : (before.get(keyOf(one)) ?? 0) + 1 }));
}

/** The values of a signal, one or one for each class, that reach the threshold of its alarm. */
export function firingRows(
  { id, value, classes = {} }: Pick<Signal, 'id' | 'value' | 'classes'>,
  settings: AlarmSettings,
): readonly Omit<Series, 'signal' | 'cluster'>[] {
  const ofClasses = Object.entries(classes).map(([what, count]) => ({ what, value: count }));
  const threshold = thresholdOf(id, settings);
  return (ofClasses.length === 0 ? [{ value }] : ofClasses).filter((row) => row.value >= threshold);
}

function thresholdOf(signal: SignalId, settings: AlarmSettings): number {
  const alarm = alarmOfSignal(signal);
  return alarm === undefined ? 1 : alarmSetting(alarm, settings).threshold;
}

function keyOf({ signal, cluster, what = '' }: Omit<Series, 'value'>): string {
  return `${signal} ${cluster} ${what}`;
}
