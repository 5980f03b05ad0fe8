import type { Logger } from '@aws-lambda-powertools/logger';
import { type Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { SweepReport, SweepRow } from '../approval/report.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Reason } from '../tables/reasons.ts';
import { METRIC } from './metric-names.ts';

/** Of the requests left and of the problems; a hostile cluster decides how many there are, not how much is logged. */
const LOGGED_EXAMPLES = 10;

/** Requests that are ignored for these are of nobody's concern: of others, decided, or about to be. */
const ORDINARY: ReadonlySet<string> = new Set<Reason>([
  'NotKubeletServing',
  'RequesterNotNode',
  'Deleting',
  'AlreadyApproved',
  'AlreadyDenied',
  'AlreadyIssued',
  'TooYoung',
  'Superseded',
]);

/**
 * Counts a sweep and logs it: one line for each decision that was written, or may have been, one for the sweep. One that read everything and had nothing to do is only counted
 * at the ordinary level of the log: it is most of all sweeps, and index and metrics tell as much.
 *
 * @param id of the cluster in the fleet, where several may have its name
 */
export function recordSweep(report: SweepReport, { logger, metrics }: Telemetry, id: string = report.cluster): void {
  const { cluster, provider, counts, complete, rows } = report;
  metrics.addMetric(METRIC.approved, MetricUnit.Count, counts.approved);
  metrics.addMetric(METRIC.denied, MetricUnit.Count, counts.denied);
  metrics.addMetric(METRIC.observed, MetricUnit.Count, counts.wouldWrite);
  metrics.addMetric(METRIC.left, MetricUnit.Count, counts.left);
  metrics.addMetric(METRIC.ignored, MetricUnit.Count, counts.ignored);
  metrics.addMetric(METRIC.writeFailed, MetricUnit.Count, counts.failed);
  countSweep(metrics, complete, report.durationMs);

  for (const row of rows) {
    if (row.outcome === 'written') logger.info('decision written', { id, cluster, decision: row });
    if (row.outcome === 'unknown') logger.warn('decision sent, no answer', { id, cluster, decision: row });
  }
  const left = rows.filter(({ verdict }) => verdict === 'leave');
  const level = hadNothingToDo(report) ? 'debug' : 'info';
  logger[complete ? level : 'warn'](complete ? 'sweep completed' : 'sweep incomplete', {
    id,
    cluster,
    provider,
    startedAt: report.startedAt,
    durationMs: report.durationMs,
    counts,
    ignored: report.ignored,
    left: left.length === 0 ? undefined : left.slice(0, LOGGED_EXAMPLES).map(example),
    ...(report.problems.length === 0
      ? {}
      : { problems: report.problems.slice(0, LOGGED_EXAMPLES), problemCount: report.problems.length }),
    evidence: report.evidence,
    requests: report.requests,
  });
}

function hadNothingToDo({ complete, rows, problems, ignored }: SweepReport): boolean {
  return (
    complete &&
    rows.length === 0 &&
    problems.length === 0 &&
    Object.keys(ignored).every((reason) => ORDINARY.has(reason))
  );
}

/** A cluster that no client could be made for: counted and logged like a sweep that found nothing to read. */
export function recordUnusable(
  cluster: string,
  problem: Problem,
  durationMs: number,
  { logger, metrics }: Telemetry,
): void {
  countSweep(metrics, false, durationMs);
  logger.warn('sweep incomplete', { cluster, durationMs, problems: [problem], problemCount: 1 });
}

/** A sweep that ended with an error of certmarshal's own, or because AWS did not let it work; its message goes back to the queue. */
export function recordFailed(
  cluster: string,
  error: unknown,
  durationMs: number,
  { logger, metrics }: Telemetry,
): void {
  countSweep(metrics, false, durationMs);
  logFailed(cluster, error, durationMs, { logger });
}

/** The same of a sweep whose report is counted: it failed when it had decided already. */
export function logFailed(
  cluster: string,
  error: unknown,
  durationMs: number,
  { logger }: Pick<Telemetry, 'logger'>,
): void {
  logger.error('sweep failed', { cluster, durationMs, error });
}

export interface Telemetry {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

function countSweep(metrics: Metrics, complete: boolean, durationMs: number): void {
  metrics.addMetric(METRIC.completed, MetricUnit.Count, complete ? 1 : 0);
  metrics.addMetric(METRIC.incomplete, MetricUnit.Count, complete ? 0 : 1);
  metrics.addMetric(METRIC.duration, MetricUnit.Milliseconds, durationMs);
}

function example({ csr, node, ageSeconds, reason, message }: SweepRow): Partial<SweepRow> {
  return { csr, node, ageSeconds, reason, message };
}
