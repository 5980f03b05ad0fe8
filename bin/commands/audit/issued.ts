import { approverName } from '../../../lambdas/approval/condition-reasons.ts';
import { issuedTotal, issuedWords } from '../../../lambdas/audit/issued-words.ts';
import type { IssuedSummary, VerdictCounts } from '../../../lambdas/contracts/audit-summary.ts';
import { ISSUED_VERDICTS, type IssuedVerdict } from '../../../lambdas/tables/issued-verdicts.ts';
import { counted } from '../../../lambdas/words.ts';
import { hang, type Lines, table } from '../../terminal/draw.ts';
import { type Paint, strong, warn } from '../../terminal/paint.ts';
import { MARKS } from '../../terminal/phrases.ts';

/** Symbol and colour of a verdict on a kubelet serving certificate. */
export const VERDICT_MARKS: Readonly<Record<IssuedVerdict, readonly [symbol: string, paint: Paint]>> = {
  'names-another': MARKS.critical,
  'not-proven': MARKS.warning,
  unknown: ['?', warn],
  proven: MARKS.well,
};

/** The verdicts on kubelet serving certificates: one line, plus one per approver if there are several. */
export function issuedLines(issued: IssuedSummary | undefined): Lines {
  if (issued === undefined) return undefined;
  const { counts, byApprover } = issued;
  const [only, ...others] = byApprover;
  const by =
    others.length === 0 && only?.approvedBy !== undefined ? `, approved by ${approverName(only.approvedBy)}` : '';
  const all = `${strong(counted(issuedTotal(counts), 'kubelet certificate'))}${by}: ${issuedWords(counts)}`;
  return [
    '',
    hang(`  ${markOf(counts)} `, all),
    others.length > 0 &&
      table(
        byApprover.map(({ approvedBy, counts: own }) => [
          `  ${markOf(own)} ${approvedBy === undefined ? 'approver not known' : `approved by ${approverName(approvedBy)}`}`,
          issuedWords(own),
        ]),
      ),
  ];
}

function markOf(counts: VerdictCounts): string {
  const [symbol, paint] = VERDICT_MARKS[ISSUED_VERDICTS.find((verdict) => counts[verdict] > 0) ?? 'unknown'];
  return paint(symbol);
}
