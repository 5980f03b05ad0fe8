import { issuedTotal } from '../../../lambdas/audit/rules/issued.ts';
import type { VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import { ISSUED, ISSUED_VERDICTS, type IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import { counted } from '../../../lambdas/words.ts';
import { hang, type Lines } from '../../terminal/draw.ts';
import { type Paint, strong, warn } from '../../terminal/paint.ts';
import { MARKS } from '../../terminal/phrases.ts';

/** Symbol and colour of a verdict on a kubelet serving certificate. */
export const VERDICT_MARKS: Readonly<Record<IssuedVerdict, readonly [symbol: string, paint: Paint]>> = {
  'names-another': MARKS.critical,
  'not-proven': MARKS.warning,
  unknown: ['?', warn],
  proven: MARKS.well,
};

/** The verdicts on kubelet serving certificates, in one line. */
export function issuedLines(counts: VerdictCounts | undefined): Lines {
  if (counts === undefined) return undefined;
  const [symbol, paint] = VERDICT_MARKS[ISSUED_VERDICTS.find((verdict) => counts[verdict] > 0) ?? 'unknown'];
  const rest = ISSUED_VERDICTS.filter((verdict) => verdict !== 'proven' && counts[verdict] > 0);
  const words = (['proven', ...rest] as const).map((verdict) => `${counts[verdict]} ${ISSUED[verdict].title}`);
  const all = `${strong(counted(issuedTotal(counts), 'kubelet certificate'))}: ${words.join(', ')}`;
  return ['', hang(`  ${paint(symbol)} `, all)];
}
