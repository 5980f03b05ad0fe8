import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { SweepReport, SweepRow } from '../../lambdas/sweep/report.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { shortDuration, took } from '../terminal/time.ts';

const PROVIDER_NAMES = { eks: 'EKS', 'eks-anywhere': 'EKS Anywhere' } as const;
// What a person must see comes first and is never cut; approvals are only an assurance.
const MOST_APPROVALS = 20;
const MOST_OTHERS = 100;

/** The result of a sweep as people read it: the whole story, then what needs a person, then the rest. */
export function renderSweep(
  report: SweepReport,
  policies: readonly ApprovalPolicy[],
  repeat: string,
  style: Style,
): string {
  const { counts } = report;
  const lines = [
    `${style.strong(report.cluster)} · ${PROVIDER_NAMES[report.provider]} · ${policies.map(({ name, mode }) => `policy ${name} (${mode})`).join(', ')}`,
    '',
  ];
  const summary: string[][] = [];
  if (counts.approved > 0 || counts.wouldWrite === 0)
    summary.push([style.good('✔'), `${counts.approved} approved`, counts.approved > 0 ? 'every name proven' : '']);
  if (counts.wouldWrite > 0)
    summary.push([style.good('◇'), `${counts.wouldWrite} would be written`, 'observe only: nothing was']);
  if (counts.denied > 0) summary.push([style.bad('✖'), `${counts.denied} denied`, 'provably hostile']);
  if (counts.failed > 0) summary.push([style.bad('✖'), `${counts.failed} not written`, 'see below']);
  summary.push([
    style.warn('◌'),
    `${counts.left} left`,
    byReason(report.rows.filter(({ verdict }) => verdict === 'leave')),
  ]);
  summary.push([style.faint('·'), `${counts.ignored} ignored`, ignoredReasons(report)]);
  lines.push(...table(summary));

  const others = report.rows.filter((row) => row.verdict !== 'approve');
  const approvals = report.rows.filter((row) => row.verdict === 'approve');
  const shown = [...others.slice(0, MOST_OTHERS), ...approvals.slice(0, MOST_APPROVALS)];
  if (shown.length > 0) {
    lines.push(
      '',
      ...table([['CSR', 'NODE', 'AGE', 'VERDICT', 'WHY'].map(style.faint), ...shown.map((row) => cells(row, style))]),
    );
    const hidden = report.rows.length - shown.length;
    if (hidden > 0) lines.push(`  … and ${hidden} more; --output json lists them all`);
  }
  const first = others.find(({ verdict }) => verdict === 'leave' || verdict === 'deny');
  if (first !== undefined) lines.push('', `  → certmarshal explain ${first.csr}${repeat}`);

  for (const { object, message, remedy } of report.problems.slice(0, MOST_OTHERS))
    lines.push('', `  ${style.bad('✖')} ${object}: ${message}`, `    → ${remedy}`);

  const { sent, writes, retries } = report.requests;
  lines.push(
    '',
    style.faint(
      `${took(report.durationMs)}, ${sent - writes} reads, ${writes} writes${retries > 0 ? `, ${retries} retries` : ''}`,
    ),
  );
  return lines.join('\n');
}

function cells(row: SweepRow, style: Style): string[] {
  const verdict = {
    approve: row.outcome === 'written' ? style.good('approve') : `approve (${row.outcome})`,
    deny: style.bad(row.outcome === 'written' ? 'deny' : `deny (${row.outcome})`),
    leave: style.warn('leave'),
    ignore: style.faint('ignore'),
  }[row.verdict];
  const why = row.verdict === 'approve' ? row.message : `${row.message}  ${style.faint(row.reason)}`;
  return [row.csr, row.node, shortDuration(row.ageSeconds), verdict, why];
}

function byReason(rows: readonly SweepRow[]): string {
  return [...Map.groupBy(rows, ({ reason }) => reason)]
    .map(([reason, group]) => `${group.length} ${reason}`)
    .join(', ');
}

function ignoredReasons({ ignored }: SweepReport): string {
  return Object.entries(ignored)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ');
}
