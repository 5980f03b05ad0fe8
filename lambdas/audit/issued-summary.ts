import type { VerdictCounts } from '../contracts/audit-summary.ts';
import type { Observation } from '../contracts/observation.ts';
import { ISSUED, ISSUED_VERDICTS } from '../tables/issued-verdicts.ts';
import { issuedCertificates } from './rules/issued.ts';

/** The number of kubelet serving certificates by verdict. Undefined if none was judged. Pure. */
export function issuedSummaryOf(observations: readonly Observation[]): VerdictCounts | undefined {
  const counts = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
  const certificates = issuedCertificates(observations);
  for (const { worst } of certificates) counts[worst.issued?.verdict ?? 'unknown'] += 1;
  return certificates.length === 0 ? undefined : counts;
}

export function issuedTotal(counts: VerdictCounts): number {
  return ISSUED_VERDICTS.reduce((sum, verdict) => sum + counts[verdict], 0);
}

/**
 * For people: `39 proven, 1 another node's name`. Omits
 * counts of 0, except of proven ones. Pure.
 */
export function issuedWords(counts: VerdictCounts): string {
  const others = ISSUED_VERDICTS.filter((verdict) => verdict !== 'proven' && counts[verdict] > 0);
  return (['proven', ...others] as const).map((verdict) => `${counts[verdict]} ${ISSUED[verdict].title}`).join(', ');
}
