import type { AuditReport } from '../../../lambdas/audit/audit.ts';
import { type CertificateGroup, certificateGroups } from '../../../lambdas/audit/rules/certificate-groups.ts';
import { issuedSummaryOf } from '../../../lambdas/audit/rules/issued.ts';
import type { VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import type { ExpiryFinding } from '../../../lambdas/contracts/finding.ts';
import type { CertificateObservation } from '../../../lambdas/contracts/observation.ts';
import type { Severity } from '../../../lambdas/tables/finding-codes.ts';

export interface AuditView {
  readonly report: AuditReport;
  readonly groups: readonly CertificateGroup[];
  /** The verdicts on kubelet serving certificates; absent without any. */
  readonly issued?: VerdictCounts | undefined;
}

export function severityCounts(findings: readonly ExpiryFinding[]): Readonly<Record<Severity, number>> {
  const count = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  return { critical: count('critical'), warning: count('warning'), info: count('info') };
}

export function certificatesOf({ snapshot }: AuditReport): readonly CertificateObservation[] {
  return snapshot.observations.filter((observation) => observation.kind === 'certificate');
}

/** @param now milliseconds since the epoch */
export function viewOf(report: AuditReport, now: number): AuditView {
  const { snapshot } = report;
  return {
    report,
    groups: certificateGroups(snapshot, now),
    issued: issuedSummaryOf(snapshot.observations),
  };
}
