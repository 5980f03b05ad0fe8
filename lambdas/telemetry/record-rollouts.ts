import { type Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { ClusterHealth, FleetHealth } from '../health/fleet-health.ts';
import { dimensionValue } from './dimension-value.ts';
import { METRIC } from './metric-names.ts';
import { createMetrics } from './metrics.ts';

/** For how long it is told what a rollout took. Milliseconds. */
const TOLD_MS = 3_600_000;
/** A rollout whose last machine came longer ago is told of no more, should the index have forgotten since when it is done. Milliseconds. */
const LATEST_MS = 24 * 3_600_000;

const UNDER_WAY: ReadonlySet<string> = new Set(['rolling', 'verifying', 'held']);

/** Publishes what is known of rollouts: how many there are with the other metrics of the invocation, of each cluster a line at once. Nothing while there is none. */
export function recordRollouts({ at, clusters }: Pick<FleetHealth, 'at' | 'clusters'>, metrics: Metrics): void {
  const now = Date.parse(at);
  const present = clusters.filter(({ goneSince, rollout }) => goneSince === undefined && rollout !== undefined);
  const underWay = present.filter(({ rollout }) => rollout !== undefined && UNDER_WAY.has(rollout.state));
  if (underWay.length > 0) metrics.addMetric(METRIC.rolloutsUnderWay, MetricUnit.Count, underWay.length);
  for (const cluster of present) publishRollout(cluster, now);
}

function publishRollout({ id, rollout }: ClusterHealth, now: number): void {
  if (rollout === undefined) return;
  const progress = UNDER_WAY.has(rollout.state) ? percentOf(rollout) : undefined;
  const duration = isJustDone(rollout, now) ? rollout.durationMs : undefined;
  if (progress !== undefined) line.addMetric(METRIC.rolloutProgress, MetricUnit.Percent, progress);
  if (duration !== undefined) line.addMetric(METRIC.rolloutDuration, MetricUnit.Seconds, Math.round(duration / 1_000));
  if (progress === undefined && duration === undefined) return;
  line.addDimension('Cluster', dimensionValue(id));
  line.publishStoredMetrics();
}

type Rollout = NonNullable<ClusterHealth['rollout']>;

/** Of all machines, those of etcd among them. Rounded down: 100 is all of them. */
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

const line = createMetrics('report');
