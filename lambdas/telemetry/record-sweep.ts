import { type Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { SweepReport, SweepRow } from '../approval/report.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Journaled } from '../journal/sweep-journal.ts';
import type { Reason } from '../tables/reasons.ts';
import { METRIC } from './metric-names.ts';
import { count, type Telemetry } from './telemetry.ts';

/** Most logged findings of an audit; the snapshot has all. */
const LOGGED_FINDINGS = 5;
/** Most logged requests and problems: a hostile cluster decides how many there are, not how much is logged. */
const LOGGED_EXAMPLES = 10;

/** Ignored requests that are not counted: of others, decided, or about to be decided. */
const ORDINARY: ReadonlySet<string> = new Set<Reason>([
  'NotKubeletServing',
  'NotKubeletClient',
  'RequesterNotNode',
  'Deleting',
  'AlreadyApproved',
  'AlreadyDenied',
  'AlreadyIssued',
  'TooYoung',
  'Superseded',
]);

/**
 * Counts a sweep and logs it: one line for each decision that was or may have been written, and one for the sweep. A
 * complete sweep without work is only counted, at the default log level: most sweeps are such, and index and metrics
 * have them.
 *
 * @param id of the cluster in the fleet, where several may have its name
 */
export function recordSweep(report: SweepReport, { logger, metrics }: Telemetry, id: string = report.cluster): void {
  const { cluster, provider, startedAt, durationMs, counts, complete, rows, ignored, problems, evidence, requests } =
    report;
  count(metrics, {
    [METRIC.approved]: counts.approved,
    [METRIC.denied]: counts.denied,
    [METRIC.observed]: counts.wouldWrite,
    [METRIC.left]: counts.left,
    [METRIC.ignored]: counts.ignored,
    [METRIC.writeFailed]: counts.failed,
  });
  countSweep(metrics, complete, durationMs);

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
    startedAt,
    durationMs,
    counts,
    ignored,
    misnamed: report.misnamed?.length === 0 ? undefined : report.misnamed?.slice(0, LOGGED_EXAMPLES),
    left: left.length === 0 ? undefined : left.slice(0, LOGGED_EXAMPLES).map(example),
    problems: problems.length === 0 ? undefined : problems.slice(0, LOGGED_EXAMPLES),
    problemCount: problems.length === 0 ? undefined : problems.length,
    evidence,
    requests,
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

/** A sweep without a report: certmarshal could not make a client, or failed. */
export function recordUnread(
  cluster: string,
  problem: Problem | undefined,
  durationMs: number,
  { logger, metrics }: Telemetry,
): void {
  countSweep(metrics, false, durationMs);
  if (problem !== undefined) logger.warn('sweep incomplete', { cluster, durationMs, problems: [problem] });
}

/**
 * Counts an audit and logs it in one line.
 *
 * @param id of the cluster in the fleet
 */
export function recordAudit(audit: AuditSummary, { logger, metrics }: Telemetry, id: string): void {
  const { counts, findings, findingCount, tally, durationMs, sources, snapshotProblem, partial } = audit;
  count(metrics, {
    [METRIC.audits]: 1,
    [METRIC.auditCritical]: counts.critical,
    [METRIC.auditWarning]: counts.warning,
    [METRIC.kubeletRenewErrors]: audit.renewErrors ?? 0,
    [METRIC.kubeletRotationsUnusual]: tally.reduce(
      (sum, one) => (one.code === 'RotationUnusual' ? sum + one.count : sum),
      0,
    ),
    [METRIC.snapshotsUnwritten]: snapshotProblem === undefined ? 0 : 1,
  });
  const urgent = findings.filter(({ severity }) => severity !== 'info').slice(0, LOGGED_FINDINGS);
  logger[counts.critical > 0 || snapshotProblem !== undefined ? 'warn' : 'info']('audited', {
    id,
    durationMs,
    counts,
    findingCount,
    findings:
      urgent.length === 0
        ? undefined
        : urgent.map(({ code, severity, object, due, facts }) => ({ code, severity, object, due, facts })),
    unread: sources.unread,
    snapshotProblem,
    partial,
  });
}

/**
 * Counts the journal lines of a sweep. Lines that could not be written are logged whole, so that the record is not
 * lost.
 *
 * @param id of the cluster in the fleet
 */
export function recordJournal({ entries, problem }: Journaled, { logger, metrics }: Telemetry, id: string): void {
  const isWritten = problem === undefined;
  count(metrics, {
    [METRIC.journalLines]: isWritten ? entries.length : 0,
    [METRIC.journalUnwritten]: isWritten ? 0 : 1,
  });
  if (isWritten) return;
  logger.error('journal not written', { cluster: id, lines: entries.length, problem });
  for (const line of entries) logger.error('journal line not written', { line });
}

function countSweep(metrics: Metrics, complete: boolean, durationMs: number): void {
  count(metrics, { [METRIC.completed]: complete ? 1 : 0, [METRIC.incomplete]: complete ? 0 : 1 });
  metrics.addMetric(METRIC.duration, MetricUnit.Milliseconds, durationMs);
}

function example({ csr, node, ageSeconds, reason, message }: SweepRow): Partial<SweepRow> {
  return { csr, node, ageSeconds, reason, message };
}
