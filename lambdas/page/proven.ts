import { issuedTotal } from '../audit/issued-words.ts';
import type { VerdictCounts } from '../contracts/audit-summary.ts';
import type { ClusterHealth } from '../health/fleet-health.ts';
import { ISSUED, ISSUED_VERDICTS, type IssuedVerdict } from '../tables/issued-verdicts.ts';
import { type Html, html } from './html.ts';
import { type Segment, segmentsOf, VERDICT_LOOKS, WORST_LAST } from './proven-bar.ts';
import { share } from './scale.ts';
import { counted, names, number } from './words.ts';

/** Minimum part of a bar as wide as the page, percent. */
const LEAST = 1;

/**
 * Proven kubelet serving certificates of the whole fleet: one number, one bar, and the number of every verdict, zeros
 * included.
 */
export function provenLine(clusters: readonly ClusterHealth[]): Html {
  const present = clusters.filter(({ state }) => state !== 'gone');
  const known = present.flatMap(({ audit }) => audit?.issued?.counts ?? []);
  const others = present.filter(({ audit }) => audit?.issued === undefined);
  const counts = sumOf(known);
  const total = issuedTotal(counts);
  return html`<section class="proofs" aria-labelledby="proofs"><h2 id="proofs">Whose certificates are proven</h2>${
    total === 0
      ? html`<p class="calm">No certificate that was issued to a kubelet is known yet.</p>`
      : html`<p><b>${number(counts.proven)}</b> of ${number(total)} kubelet certificates</p>
<svg class="proof" aria-hidden="true" focusable="false">${segmentsOf(counts, LEAST).map(part)}</svg>
<ul>${WORST_LAST.map((verdict) => line(verdict, counts[verdict], present))}${
          others.length > 0 &&
          html`<li class="none"><i aria-hidden="true">–</i> ${counted(others.length, 'cluster')} not known: ${names(others)}</li>`
        }</ul>`
  }</section>`;
}

function sumOf(all: readonly VerdictCounts[]): VerdictCounts {
  const sum = { 'names-another': 0, 'not-proven': 0, 'no-longer-proven': 0, unknown: 0, proven: 0 };
  for (const counts of all) for (const verdict of ISSUED_VERDICTS) sum[verdict] += counts[verdict];
  return sum;
}

function part({ verdict, from, width }: Segment): Html {
  return html`<rect class="${VERDICT_LOOKS[verdict].tone}" x="${share(from)}" width="${share(width)}" height="10"/>`;
}

function line(verdict: IssuedVerdict, count: number, clusters: readonly ClusterHealth[]): Html {
  const { symbol, tone } = VERDICT_LOOKS[verdict];
  const named = tone === 'critical' ? clusters.filter(({ audit }) => (audit?.issued?.counts[verdict] ?? 0) > 0) : [];
  return html`<li class="${count === 0 ? 'none' : tone}"><i aria-hidden="true">${symbol}</i> ${number(count)} ${ISSUED[verdict].title}${named.length > 0 && html`: ${names(named)}`}</li>`;
}
