import { type IssuedSummary, MAX_APPROVERS, type VerdictCounts } from '../contracts/audit-summary.ts';
import type { Observation } from '../contracts/observation.ts';
import { compare } from '../words.ts';
import { type IssuedCertificate, issuedCertificates } from './rules/issued.ts';

/**
 * Counts the verdicts on kubelet serving certificates, in total and by approver, the largest first. Undefined if none
 * was judged. Pure.
 */
export function issuedSummaryOf(observations: readonly Observation[]): IssuedSummary | undefined {
  const certificates = issuedCertificates(observations);
  if (certificates.length === 0) return undefined;
  const named = [...Map.groupBy(certificates, ({ approvedBy = '' }) => approvedBy)]
    .filter(([approver]) => approver !== '')
    .toSorted(([a, ofA], [b, ofB]) => ofB.length - ofA.length || compare(a, b))
    .slice(0, MAX_APPROVERS);
  const others = certificates.filter(({ approvedBy }) => !named.some(([approver]) => approver === approvedBy));
  return {
    counts: countsOf(certificates),
    byApprover: [
      ...named.map(([approvedBy, same]) => ({ approvedBy, counts: countsOf(same) })),
      ...(others.length === 0 ? [] : [{ counts: countsOf(others) }]),
    ],
  };
}

function countsOf(certificates: readonly IssuedCertificate[]): VerdictCounts {
  const counts = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
  for (const { worst } of certificates) counts[worst.issued?.verdict ?? 'unknown'] += 1;
  return counts;
}
