import { issuedTotal } from '../audit/rules/issued.ts';
import type { VerdictCounts } from '../contracts/audit-summary.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../tables/issued-verdicts.ts';

/** Symbol of a verdict on a kubelet serving certificate, and the class of its line. */
export const VERDICT_LOOKS: Readonly<Record<IssuedVerdict, { readonly symbol: string; readonly tone: string }>> = {
  'names-another': { symbol: '✖', tone: 'critical' },
  'not-proven': { symbol: '!', tone: 'warning' },
  unknown: { symbol: '?', tone: 'unknown' },
  proven: { symbol: '✔', tone: 'well' },
};

/** What is proven first. */
export const WORST_LAST: readonly IssuedVerdict[] = ISSUED_VERDICTS.toReversed();

/** The number of a cluster: `✖ 39 of 42`, with the symbol of the worst verdict. */
export function provenOf(counts: VerdictCounts): string {
  const worst = ISSUED_VERDICTS.find((verdict) => counts[verdict] > 0) ?? 'unknown';
  return `${VERDICT_LOOKS[worst].symbol} ${counts.proven} of ${issuedTotal(counts)}`;
}
