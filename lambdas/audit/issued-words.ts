import type { VerdictCounts } from '../contracts/audit-summary.ts';
import { ISSUED, ISSUED_VERDICTS } from '../tables/issued-verdicts.ts';

export function issuedTotal(counts: VerdictCounts): number {
  return ISSUED_VERDICTS.reduce((sum, verdict) => sum + counts[verdict], 0);
}

/**
 * The text about kubelet serving certificates for report page and command line: `39 proven, 1 names another's`. Omits
 * counts of 0, except of proven ones. Pure.
 */
export function issuedWords(counts: VerdictCounts): string {
  const others = ISSUED_VERDICTS.filter((verdict) => verdict !== 'proven' && counts[verdict] > 0);
  return (['proven', ...others] as const).map((verdict) => `${counts[verdict]} ${ISSUED[verdict].title}`).join(', ');
}
