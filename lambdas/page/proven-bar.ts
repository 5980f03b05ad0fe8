import { issuedTotal } from '../audit/issued-words.ts';
import type { VerdictCounts } from '../contracts/audit-summary.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../tables/issued-verdicts.ts';

/** Symbol of a verdict on a kubelet serving certificate, and the class of its part of a bar. */
export const VERDICT_LOOKS: Readonly<Record<IssuedVerdict, { readonly symbol: string; readonly tone: string }>> = {
  'names-another': { symbol: '✖', tone: 'critical' },
  'not-proven': { symbol: '!', tone: 'warning' },
  unknown: { symbol: '?', tone: 'unknown' },
  proven: { symbol: '✔', tone: 'well' },
};

/** In the order of a bar, from the left. */
export const WORST_LAST: readonly IssuedVerdict[] = ISSUED_VERDICTS.toReversed();

/** Part of a bar, in percent of its width. */
export interface Segment {
  readonly verdict: IssuedVerdict;
  readonly from: number;
  readonly width: number;
}

/** A bar of all certificates. Pure. @param least minimum percent of a part, so that few certificates stay visible */
export function segmentsOf(counts: VerdictCounts, least: number): readonly Segment[] {
  const present = WORST_LAST.filter((verdict) => counts[verdict] > 0);
  const total = issuedTotal(counts);
  const shares = present.map((verdict) => Math.max(least, (counts[verdict] / total) * 100));
  // The largest part gives what small ones got too much.
  const excess = shares.reduce((sum, share) => sum + share, 0) - 100;
  const largest = shares.indexOf(Math.max(...shares));
  let from = 0;
  return present.map((verdict, index) => {
    const width = (shares[index] ?? 0) - (index === largest ? excess : 0);
    const segment = { verdict, from, width };
    from += width;
    return segment;
  });
}

/** The number of a cluster: `✖ 39 of 42`, with the symbol of the worst verdict. */
export function provenOf(counts: VerdictCounts): string {
  const worst = ISSUED_VERDICTS.find((verdict) => counts[verdict] > 0) ?? 'unknown';
  return `${VERDICT_LOOKS[worst].symbol} ${counts.proven} of ${issuedTotal(counts)}`;
}
