import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Journaled } from '../journal/sweep-journal.ts';
import { METRIC } from './metric-names.ts';
import type { Telemetry } from './record-sweep.ts';

/** Of one sweep. More would be a storm, and the log has its decisions all the same. */
const LOGGED_LINES = 200;

/**
 * Counts what was written down of a sweep. What could not be is logged, each line whole, so that the record is not lost.
 *
 * @param id of the cluster in the fleet
 */
export function recordJournal(
  { lines, unwritten, leftOut, problem }: Journaled,
  { logger, metrics }: Telemetry,
  id: string,
): void {
  metrics.addMetric(METRIC.journalLines, MetricUnit.Count, lines);
  metrics.addMetric(METRIC.journalUnwritten, MetricUnit.Count, problem === undefined ? 0 : 1);
  if (leftOut > 0) logger.warn('requests left out of the journal', { cluster: id, leftOut });
  if (problem === undefined) return;
  logger.error('journal not written', { cluster: id, lines: unwritten.length, problem });
  for (const line of unwritten.slice(0, LOGGED_LINES)) logger.error('journal line not written', { line });
}
