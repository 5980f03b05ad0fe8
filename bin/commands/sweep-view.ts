import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { SweepReport, SweepRow } from '../../lambdas/approval/report.ts';
import type { Reason } from '../../lambdas/tables/reasons.ts';
import { pasteable } from '../program.ts';
import { type NamedServer, serverWords } from '../target.ts';
import { counted } from '../terminal/plural.ts';
import type { Style } from '../terminal/style.ts';
import { table } from '../terminal/table.ts';
import { shortDuration, took } from '../terminal/time.ts';
import { hang } from '../terminal/wrap.ts';

const PROVIDER_NAMES = { eks: 'EKS', 'eks-anywhere': 'EKS Anywhere' } as const;
// What a person must see comes first and is never cut; approvals are only an assurance.
const MOST_APPROVALS = 20;
const MOST_OTHERS = 100;

export interface SweepView {
  readonly report: SweepReport;
  readonly server?: NamedServer;
  /** The policies that select the cluster. */
  readonly policies: readonly ApprovalPolicy[];
  /** How the user starts this program, and the options that say which cluster: for the commands it recommends. */
  readonly program: string;
  readonly repeat: string;
}

/**
 * The result of a sweep as people read it: the whole story, then what needs a person, then the rest.
 *
 * @param width columns of the terminal; undefined wraps nothing
 */
export function renderSweep(view: SweepView, style: Style, width: number | undefined): string {
  const { report, program } = view;
  return [
    ...(report.readable ? judged(view, style, width) : notReadable(view, style, width)),
    ...report.problems
      .slice(0, MOST_OTHERS)
      .flatMap(({ object, message, remedy }) => [
        '',
        ...hang(`  ${style.bad('✖')} `, `${object}: ${message}`, width),
        ...hang('    → ', pasteable(remedy, program), width),
      ]),
    '',
    style.faint(cost(report)),
  ].join('\n');
}

/** Nothing is known about the cluster: a count, even of zero, would say otherwise. */
function notReadable({ report, server }: SweepView, style: Style, width: number | undefined): string[] {
  const { cluster, provider } = report;
  return [
    ...hang(style.bad('✖ '), style.bad(`${cluster} · ${PROVIDER_NAMES[provider]} · not readable`), width),
    ...serverLines(server, style, width),
  ];
}

function serverLines(server: NamedServer | undefined, style: Style, width: number | undefined): string[] {
  return server === undefined ? [] : hang('  ', style.faint(serverWords(server)), width);
}

function judged(
  { report, server, policies, program, repeat }: SweepView,
  style: Style,
  width: number | undefined,
): string[] {
  const inForce = policies.map(({ name, mode }) => `policy ${name} (${mode})`).join(', ') || 'no policy selects it';
  const rows = report.rows.toSorted((a, b) => urgency(a) - urgency(b) || compare(a.reason, b.reason));
  const others = rows.filter(({ verdict }) => verdict !== 'approve');
  const approvals = rows.filter(({ verdict }) => verdict === 'approve');
  const shown = [...others.slice(0, MOST_OTHERS), ...approvals.slice(0, MOST_APPROVALS)];
  const hidden = rows.length - shown.length;
  const [first] = others;
  return [
    ...hang('', `${style.strong(report.cluster)} · ${PROVIDER_NAMES[report.provider]} · ${inForce}`, width),
    ...serverLines(server, style, width),
    '',
    ...table(summary(report, others, style), { width }),
    ...(shown.length > 0
      ? [
          '',
          ...table(
            [
              ['CSR', 'NODE', 'AGE', 'VERDICT', 'WHY'].map(style.faint),
              ...shown.map((row, index) => cells(row, shown[index - 1], style)),
            ],
            { width, stackBelow: 80 },
          ),
        ]
      : []),
    ...(hidden > 0 ? [`  … and ${hidden} more; --output json lists them all`] : []),
    ...(first !== undefined && KUBERNETES_NAME.test(first.csr)
      ? ['', `  → ${program} explain ${first.csr}${repeat}`]
      : []),
  ];
}

// The only names that CertificateSigningRequests can have; no other text of a cluster gets into a command that is to be pasted.
const KUBERNETES_NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/;

const ABOUT_FOREIGN_NAMES: ReadonlySet<Reason> = new Set(['SanNotOwned', 'SanReserved', 'SanContested']);

/** What bites first has the smallest figure. */
function urgency({ verdict, hostile, reason, outcome }: SweepRow): number {
  if (verdict === 'approve') return outcome === 'written' || outcome === 'observed' ? 5 : 4;
  if (hostile) return 0;
  if (ABOUT_FOREIGN_NAMES.has(reason)) return 1;
  // Most of these prove themselves a minute later.
  return reason === 'EvidenceMissing' ? 3 : 2;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function summary({ counts, ignored }: SweepReport, others: readonly SweepRow[], style: Style): string[][] {
  const lines: string[][] = [];
  if (counts.approved > 0 || counts.wouldWrite === 0)
    lines.push([style.good('✔'), `${counts.approved} approved`, counts.approved > 0 ? 'every name proven' : '']);
  if (counts.wouldWrite > 0)
    lines.push([style.good('◇'), `${counts.wouldWrite} would be written`, 'observe only: nothing was']);
  if (counts.denied > 0) lines.push([style.bad('✖'), `${counts.denied} denied`, 'provably hostile']);
  if (counts.failed > 0) lines.push([style.bad('✖'), `${counts.failed} not written`, 'see below']);
  const left = others.filter(({ verdict }) => verdict === 'leave');
  const mark = left.some(({ hostile }) => hostile) ? style.bad('✖') : style.warn('◌');
  lines.push([mark, `${counts.left} left`, byReason(left)]);
  const reasons = Object.entries(ignored).map(([reason, count]) => `${count} ${reason}`);
  lines.push([style.faint('·'), `${counts.ignored} ignored`, reasons.join(', ')]);
  return lines;
}

function byReason(rows: readonly SweepRow[]): string {
  const groups = Map.groupBy(rows, ({ reason, hostile }) => `${reason}${hostile ? ' (provably hostile)' : ''}`);
  return [...groups].map(([label, group]) => `${group.length} ${label}`).join(', ');
}

// These say something about the cluster, not about the request: once is enough.
const ABOUT_THE_CLUSTER: ReadonlySet<Reason> = new Set(['NoPolicySelected', 'EvidenceUnreadable']);

function cells(row: SweepRow, above: SweepRow | undefined, style: Style): string[] {
  const repeats = above?.reason === row.reason && ABOUT_THE_CLUSTER.has(row.reason);
  const message = repeats ? 'as above' : row.message;
  const why = row.verdict === 'approve' ? message : `${message}  ${style.faint(row.reason)}`;
  return [row.csr, row.node, shortDuration(row.ageSeconds), verdictCell(row, style), why];
}

function verdictCell({ verdict, outcome, hostile }: SweepRow, style: Style): string {
  if (verdict === 'leave') return hostile ? style.bad('✖ leave') : style.warn('◌ leave');
  if (verdict === 'ignore') return style.faint('· ignore');
  const paint = verdict === 'deny' ? style.bad : style.good;
  if (outcome === 'written') return paint(verdict === 'deny' ? '✖ deny' : '✔ approve');
  if (outcome === 'observed') return paint(`◇ would ${verdict}`);
  // Somebody else was faster, or it went wrong: then a problem below says how.
  return outcome === 'overtaken' ? style.faint(`· ${verdict} (overtaken)`) : style.bad(`✖ ${verdict} (${outcome})`);
}

function cost({ durationMs, requests: { sent, writes, retries }, readable }: SweepReport): string {
  return [
    took(durationMs),
    counted(sent - writes, 'read'),
    ...(readable ? [counted(writes, 'write')] : []),
    ...(retries > 0 ? [counted(retries, 'retry', 'retries')] : []),
  ].join(', ');
}
