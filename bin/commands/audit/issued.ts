import { issuedTotal, issuedWords } from '../../../lambdas/audit/issued-summary.ts';
import type { VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
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
  const all = `${strong(counted(issuedTotal(counts), 'kubelet certificate'))}: ${issuedWords(counts)}`;
  return ['', hang(`  ${paint(symbol)} `, all)];
}
