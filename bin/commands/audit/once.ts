import { type AuditOptions, type AuditReport, type AuditRules, audit } from '../../../lambdas/audit/audit.ts';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import { AUDIT_SOURCES } from '../../../lambdas/audit/sources.ts';
import type { SourceId } from '../../../lambdas/tables/audit-sources.ts';
import { SEVERITIES, type Severity } from '../../../lambdas/tables/finding-codes.ts';
import { firstOf } from '../../../lambdas/words.ts';
import { EXIT } from '../../exit-codes.ts';
import type { Io } from '../../io.ts';
import { auditedSources } from './sources.ts';

export interface AuditOnceOptions {
  /** Exit status 1 for a finding of at least this severity. */
  readonly failOn?: Severity;
}

/** For a job that fails only by its exit status. */
export const CRITICAL_PASSES = 'Exit status 0 despite a critical finding; for status 1: --fail-on critical\n';

/** Dependencies of the command; tests pass their own sources. */
export interface AuditIo extends Io {
  readonly sources?: AuditOptions['sources'];
}

export interface Audited {
  readonly report: AuditReport;
  readonly status: number;
  readonly failed: boolean;
  /** Whether a finding is critical. */
  readonly critical: boolean;
}

/**
 * Audits one cluster once.
 *
 * @param onLeft called with the sources that are still pending
 */
export async function auditOnce(
  target: AuditTarget,
  rules: AuditRules,
  { failOn }: AuditOnceOptions,
  signal: AbortSignal,
  io: Pick<AuditIo, 'clock' | 'sources'>,
  onLeft: (left: string) => void = () => {},
): Promise<Audited> {
  const report = await auditWithProgress(target, rules, signal, io, onLeft);
  const { findings, observations } = report.snapshot;
  const complete = !signal.aborted && auditedSources(observations).unread.length === 0;
  const failed = failOn !== undefined && findings.some(({ severity }) => reaches(severity, failOn));
  const critical = findings.some(({ severity }) => reaches(severity));
  return { report, status: complete && !failed ? EXIT.done : EXIT.incomplete, failed, critical };
}

function reaches(severity: Severity, limit: Severity = 'critical'): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(limit);
}

// oxlint-disable-next-line max-params -- internal
function auditWithProgress(
  target: AuditTarget,
  rules: AuditRules,
  signal: AbortSignal,
  { clock, sources = AUDIT_SOURCES }: Pick<AuditIo, 'clock' | 'sources'>,
  onLeft: (left: string) => void,
): Promise<AuditReport> {
  const waiting = new Set<SourceId>(sources.map(({ id }) => id));
  const say = () =>
    onLeft(`${sources.length - waiting.size} of ${sources.length} sources read, waiting for ${firstOf([...waiting])}`);
  say();
  return audit(target, {
    previous: undefined,
    ...rules,
    signal,
    clock,
    sources,
    onSource(source) {
      waiting.delete(source);
      say();
    },
  });
}
