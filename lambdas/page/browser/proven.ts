import { issuedWords } from '../../audit/issued-words.ts';
import type { VerdictCounts } from '../../contracts/audit-summary.ts';
import { ISSUED } from '../../tables/issued-verdicts.ts';
import type { ClusterDetails } from '../cluster-details.ts';
import { segmentsOf, VERDICT_LOOKS, WORST_LAST } from '../proven-bar.ts';
import { share } from '../scale.ts';
import { type Child, draw, make } from './dom.ts';
import { heading, labelledTable } from './parts.ts';

/** Of a bar as narrow as a column, percent. */
const LEAST = 4;

type Issued = NonNullable<ClusterDetails['issued']>;

/** How many certificates have which verdict, as a bar. */
export function provenBar(numbers: Issued[0]): Element {
  const counts = countsOf(numbers);
  const parts = segmentsOf(counts, LEAST).map(({ verdict, from, width }) =>
    draw('rect', { class: VERDICT_LOOKS[verdict].tone, x: share(from), width: share(width), height: '8' }),
  );
  return draw('svg', { class: 'proof', role: 'img', 'aria-label': issuedWords(counts) }, ...parts);
}

/** Whose kubelet serving certificates are proven: in all, and by who approved them. */
export function provenPart([all, byApprover = []]: Issued): readonly Child[] {
  const approvers = byApprover.map(([approver, ...numbers]) =>
    row(approver || 'not known', numbers.length === 0 ? all : numbers),
  );
  const rows = byApprover.length === 1 ? approvers : [row('all', all), ...approvers];
  const titles = [
    'Approved by',
    'Share',
    ...WORST_LAST.map((verdict) => `${VERDICT_LOOKS[verdict].symbol} ${ISSUED[verdict].title}`),
  ];
  return [
    heading('Whose kubelet certificates are proven'),
    labelledTable('Kubelet certificates', 'issued', titles, rows),
  ];
}

function row(approver: string, numbers: Issued[0]): HTMLElement {
  const counts = countsOf(numbers);
  const cells = WORST_LAST.map((verdict) => {
    const { tone } = VERDICT_LOOKS[verdict];
    return make('td', { class: counts[verdict] === 0 ? 'soft' : tone }, String(counts[verdict]));
  });
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, approver),
    make('td', { class: 'life' }, provenBar(numbers)),
    ...cells,
  );
}

function countsOf(numbers: Issued[0]): VerdictCounts {
  const counts = { 'names-another': 0, 'not-proven': 0, unknown: 0, proven: 0 };
  WORST_LAST.forEach((verdict, index) => {
    counts[verdict] = numbers[index] ?? 0;
  });
  return counts;
}
