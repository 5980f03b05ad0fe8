import { type Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import type { Series } from '../health/series.ts';
import { escaped } from '../printable.ts';
import { printableName } from '../printable-name.ts';
import type { SignalId } from '../tables/signals.ts';
import { METRIC } from './metric-names.ts';
import { count, createMetrics } from './telemetry.ts';

/** How long the duration of a finished rollout is published. Milliseconds. */
const TOLD_MS = 3_600_000;
/** Rollouts whose last machine is older are not published, in case the index lost their end. Milliseconds. */
const LATEST_MS = 24 * 3_600_000;

const UNDER_WAY: ReadonlySet<string> = new Set(['rolling', 'verifying', 'held']);

/** Of the table, passed in: rooms with I/O import decisions as types only. */
type SignalUnits = Readonly<Record<SignalId, { readonly unit: 'Seconds' | 'Count' | 'None' }>>;

const UNITS = { Seconds: MetricUnit.Seconds, Count: MetricUnit.Count, None: MetricUnit.NoUnit } as const;

/** Each use publishes one line. */
const LINE = createMetrics('report');

/**
 * Publishes the fleet: its totals with the other metrics of the invocation, and the series of clusters at once, because
 * each has its own dimensions.
 *
 * @param tick the minute of the values, in milliseconds since the epoch
 */
// oxlint-disable-next-line max-params -- one call
export function recordHealth(
  health: FleetHealth,
  series: readonly Series[],
  units: SignalUnits,
  metrics: Metrics,
  tick: number,
): void {
  const { clusters, totals, counts } = health;
  for (const [id, value] of entriesOf(totals)) if (value > 0) metrics.addMetric(id, UNITS[units[id].unit], value);
  count(metrics, {
    [METRIC.clustersUnwell]: counts.critical + counts.warning,
    [METRIC.clustersInMaintenance]: clusters.filter(({ maintenance }) => maintenance !== undefined).length,
  });
  recordRollouts(health, metrics, tick);

  const lines = Map.groupBy(series, ({ cluster, what }) => JSON.stringify([cluster, what]));
  for (const same of lines.values()) publish(same, units, tick);
}

/** One line. Powertools adds the dimension `service`, and forgets our dimensions and time after writing it. */
function publish(same: readonly Series[], units: SignalUnits, tick: number): void {
  const [{ cluster, what } = { cluster: '' }] = same;
  LINE.addDimension('Cluster', dimensionValue(cluster));
  if (what !== undefined) LINE.addDimension('Class', dimensionValue(what));
  for (const { signal, value } of same) LINE.addMetric(signal, UNITS[units[signal].unit], value);
  LINE.setTimestamp(tick).publishStoredMetrics();
}

/**
 * Publishes rollouts: their number with the other metrics of the invocation, and one line at once for each cluster.
 * Nothing without rollouts.
 */
export function recordRollouts(
  { at, clusters }: Pick<FleetHealth, 'at' | 'clusters'>,
  metrics: Metrics,
  tick: number,
): void {
  const now = Date.parse(at);
  const present = clusters.filter(({ goneSince, rollout }) => goneSince === undefined && rollout !== undefined);
  const underWay = present.filter(({ rollout }) => rollout !== undefined && UNDER_WAY.has(rollout.state));
  count(metrics, { [METRIC.rolloutsUnderWay]: underWay.length });
  for (const cluster of present) publishRollout(cluster, now, tick);
}

function publishRollout({ id, rollout }: ClusterHealth, now: number, tick: number): void {
  if (rollout === undefined) return;
  const progress = UNDER_WAY.has(rollout.state) ? percentOf(rollout) : undefined;
  const duration = isJustDone(rollout, now) ? rollout.durationMs : undefined;
  if (progress !== undefined) LINE.addMetric(METRIC.rolloutProgress, MetricUnit.Percent, progress);
  if (duration !== undefined) LINE.addMetric(METRIC.rolloutDuration, MetricUnit.Seconds, Math.round(duration / 1_000));
  if (progress === undefined && duration === undefined) return;
  LINE.addDimension('Cluster', dimensionValue(id));
  LINE.setTimestamp(tick).publishStoredMetrics();
}

type Rollout = NonNullable<ClusterHealth['rollout']>;

/** Of all machines, etcd included. Rounded down: 100 means all. */
function percentOf({ progress }: Rollout): number | undefined {
  if (progress === undefined) return undefined;
  const parts = [progress, ...(progress.etcd === undefined ? [] : [progress.etcd])];
  const wanted = parts.reduce((sum, part) => sum + part.wanted, 0);
  const verified = parts.reduce((sum, part) => sum + Math.min(part.verified, part.wanted), 0);
  return wanted === 0 ? undefined : Math.floor((verified / wanted) * 100);
}

function isJustDone({ state, since, durationMs, rollout }: Rollout, now: number): boolean {
  if (state !== 'done' || durationMs === undefined || rollout === undefined) return false;
  return now - Date.parse(since) < TOLD_MS && now - (Date.parse(rollout.start) + durationMs) < LATEST_MS;
}

function entriesOf(totals: FleetHealth['totals']): readonly (readonly [SignalId, number])[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of its type
  return Object.entries(totals) as (readonly [SignalId, number])[];
}

/** Source: CloudWatch API Reference, Dimension. */
const MAX_VALUE = 1_024;

/**
 * A text as the value of a CloudWatch dimension: printable ASCII, 1 to 1,024 characters, not blank, no leading colon.
 * Ids of clusters stay unchanged. Other characters become `\u{…}`, and a value that is too long ends in a hash of the
 * whole, so that different texts stay different. Pure.
 */
export function dimensionValue(text: string): string {
  const value = printableName(escaped(text, /[^\x20-\x7e]|^[: ]| $/gu), MAX_VALUE);
  return value === '' ? String.raw`\u{}` : value;
}
