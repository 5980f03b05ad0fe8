import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import type { Signal, SignalId } from '../tables/signals.ts';
import { dimensionValue } from './dimension-value.ts';
import { METRIC } from './metric-names.ts';
import { createMetrics } from './metrics.ts';
import { recordRollouts } from './record-rollouts.ts';
import type { Telemetry } from './record-sweep.ts';

/** Whoever has more of them has one trouble, and each is a few hundred bytes of log a minute. */
export const MOST_CLUSTERS = 2_000;

/** What the tables say of the signals. They are given: rooms that do I/O know decisions as types only. */
export interface SignalTables {
  readonly units: SignalUnits;
  /** Those that are asked for by class of certificate only. */
  readonly byClass: ReadonlySet<SignalId>;
}

type SignalUnits = Readonly<
  Record<SignalId, { readonly unit: 'Seconds' | 'Count' | 'None'; readonly sometimes?: true }>
>;

const UNITS = { Seconds: MetricUnit.Seconds, Count: MetricUnit.Count, None: MetricUnit.NoUnit } as const;

/**
 * Publishes the fleet: its totals, and of each cluster that is not well one line with its signals and one for each class of certificate, of the worst
 * {@link MOST_CLUSTERS} of them. The totals are published with the other metrics of the invocation, the lines at once: each has dimensions of its own.
 *
 * A series is paid for in every hour in which it has a value: what is 0 has none. So an alarm on it ends when it has no data, and must treat that as good.
 */
export function recordHealth(health: FleetHealth, tables: SignalTables, { logger, metrics }: Telemetry): void {
  const { units } = tables;
  const { clusters, totals, counts, slo } = health;
  for (const [id, value] of entriesOf(totals))
    if (value > 0 || !units[id].sometimes) metrics.addMetric(id, UNITS[units[id].unit], value);
  metrics.addMetric(METRIC.clustersUnwell, MetricUnit.Count, counts.critical + counts.warning);
  const inMaintenance = clusters.filter(({ maintenance }) => maintenance !== undefined).length;
  metrics.addMetric(METRIC.clustersInMaintenance, MetricUnit.Count, inMaintenance);
  if (slo.attainment !== undefined) {
    metrics.addMetric(METRIC.sloAttainment, MetricUnit.Percent, percent(slo.attainment));
    metrics.addMetric(METRIC.sloBudgetLeft, MetricUnit.Percent, percent(slo.budgetLeft));
  }
  recordRollouts(health, metrics);

  const unwell = clusters.filter(({ signals }) => signals.length > 0);
  for (const cluster of unwell.slice(0, MOST_CLUSTERS)) publishCluster(cluster, tables);
  if (unwell.length > MOST_CLUSTERS)
    logger.warn('clusters left out of the metrics', {
      clusters: unwell.length - MOST_CLUSTERS,
      published: MOST_CLUSTERS,
      remedy: 'Mend what most of them have in common; the report page has all of them.',
    });
}

function publishCluster({ id, signals }: ClusterHealth, { units, byClass: only }: SignalTables): void {
  const cluster = dimensionValue(id);
  const whole = signals.filter((signal) => !only.has(signal.id) || classesOf(signal).length === 0);
  if (whole.length > 0) publish({ Cluster: cluster }, whole, units);
  const byClass = Map.groupBy(signals.flatMap(classesOf), ({ what }) => what);
  for (const [what, same] of byClass) publish({ Cluster: cluster, Class: dimensionValue(what) }, same, units);
}

type Value = Pick<Signal, 'id' | 'value'>;

function classesOf({ id, classes = {} }: Signal): readonly (Value & { readonly what: string })[] {
  return Object.entries(classes).map(([what, value]) => ({ id, value, what }));
}

/** One line. Powertools adds the dimension `service`, and forgets ours once it is written. */
function publish(dimensions: Readonly<Record<string, string>>, values: readonly Value[], units: SignalUnits): void {
  for (const [name, value] of Object.entries(dimensions)) line.addDimension(name, value);
  for (const { id, value } of values) line.addMetric(id, UNITS[units[id].unit], value);
  line.publishStoredMetrics();
}

const line = createMetrics('report');

function entriesOf(totals: FleetHealth['totals']): readonly (readonly [SignalId, number])[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of its type
  return Object.entries(totals) as (readonly [SignalId, number])[];
}

/** Thousandths of a percent: an objective may have three nines. */
function percent(share: number): number {
  return Math.round(share * 100_000) / 1_000;
}
