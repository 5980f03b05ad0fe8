import type { Places } from '../../terminal/phrases.ts';
import { type AuditView, certificatesOf, severityCounts } from './groups.ts';
import { type AuditRepeat, nextOfFinding } from './repeat.ts';
import { auditedSources, handshakesOf } from './sources.ts';

/**
 * The audit for programs: docs/output.md.
 *
 * @param given `verbose` includes all other observations
 */
export function auditJson(
  { report, groups, issued }: AuditView,
  given: AuditRepeat & Pick<Places, 'program'> & { readonly verbose?: boolean },
): object {
  const { snapshot, durationMs, requests } = report;
  const { version, cluster, provider, auditedAt, findings, observations } = snapshot;
  const sources = auditedSources(observations);
  return {
    version,
    cluster,
    provider,
    auditedAt,
    durationMs,
    requests,
    handshakes: handshakesOf(sources),
    counts: severityCounts(findings),
    findings: findings.map((finding) => ({ ...finding, command: nextOfFinding(finding, given.program, given) })),
    groups,
    issued,
    sources: {
      read: sources.read.map(({ source, count }) => ({ source, count })),
      unread: sources.unread.map(({ source, problem, message, remedy }) => ({ source, problem, message, remedy })),
      off: sources.off.map(({ source, why }) => ({ source, why })),
    },
    certificates: certificatesOf(report),
    observations: given.verbose === true ? observations.filter(({ kind }) => kind !== 'certificate') : undefined,
  };
}
