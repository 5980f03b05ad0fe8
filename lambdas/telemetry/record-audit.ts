import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import { METRIC } from './metric-names.ts';
import type { Telemetry } from './record-sweep.ts';

/** Of the findings; the snapshot has them all. */
const LOGGED_FINDINGS = 5;

/**
 * Counts an audit and logs it in one line.
 *
 * @param id of the cluster in the fleet
 */
export function recordAudit(audit: AuditSummary, { logger, metrics }: Telemetry, id: string): void {
  const { counts, findings, findingCount, durationMs, sources, snapshotProblem, partial } = audit;
  metrics.addMetric(METRIC.audits, MetricUnit.Count, 1);
  metrics.addMetric(METRIC.auditCritical, MetricUnit.Count, counts.critical);
  metrics.addMetric(METRIC.auditWarning, MetricUnit.Count, counts.warning);
  metrics.addMetric(METRIC.snapshotsUnwritten, MetricUnit.Count, snapshotProblem === undefined ? 0 : 1);
  const urgent = findings.filter(({ severity }) => severity !== 'info').slice(0, LOGGED_FINDINGS);
  logger[counts.critical > 0 || snapshotProblem !== undefined ? 'warn' : 'info']('audited', {
    id,
    durationMs,
    counts,
    findingCount,
    findings:
      urgent.length === 0
        ? undefined
        : urgent.map(({ code, severity, object, message, due }) => ({
            code,
            severity,
            object,
            message,
            due,
          })),
    unread: sources.unread,
    snapshotProblem,
    partial,
  });
}

/** A bug in an audit. The sweep it followed is not touched by it. */
export function recordFailedAudit(id: string, error: unknown, { logger }: Telemetry): void {
  logger.error('audit failed', { id, error });
}
