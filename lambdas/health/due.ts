import type { AuditSummary } from '../contracts/audit-summary.ts';

/** Whether EKS starts to sign with a new CA at that time: then no certificate expires. Pure. */
export function isEksChange(due: string | undefined, audit: Pick<AuditSummary, 'findings'> | undefined): boolean {
  return audit?.findings.some((finding) => finding.code === 'SuccessorNotTrusted' && finding.due === due) === true;
}
