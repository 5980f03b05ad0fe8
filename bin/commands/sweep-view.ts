import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import type { SweepReport, SweepRow } from '../../lambdas/approval/report.ts';
import { NAME_OF_ANOTHER, type VerdictWords, verdictWords } from '../../lambdas/approval/verdict-words.ts';
import { expiredServerRunbook } from '../../lambdas/audit/commands.ts';
import { pasteable } from '../../lambdas/command.ts';
import { isOfExpiredEndpoint } from '../../lambdas/expired-endpoint.ts';
import type { Provider } from '../../lambdas/identifiers.ts';
import type { Reason } from '../../lambdas/tables/reasons.ts';
import { compare, counted } from '../../lambdas/words.ts';
import type { NamedServer } from '../target.ts';
import { hang, type Lines, table } from '../terminal/draw.ts';
import { bad, faint, good, type Paint, strong, warn } from '../terminal/paint.ts';
import { PROVIDER_NAMES, problemLines, serverLine } from '../terminal/phrases.ts';
import { joined, shortDuration, took } from '../terminal/words.ts';

// Requests that need a person come first and have the higher limit; approvals are only an assurance.
const MAX_APPROVALS = 20;
const MAX_OTHERS = 100;

export interface SweepView {
  readonly report: SweepReport;
  readonly server?: NamedServer;
  /** Whether what is proven is approved; else nothing is written. */
  readonly yes?: boolean;
  /** The policies that select the cluster. */
  readonly policies: readonly ApprovalPolicy[];
  /** The command that starts this program, and the target options as text, for the next commands. */
  readonly program: string;
  readonly repeat: string;
  /** The same for a runbook. */
  readonly repeatNames: string;
}

/** The result of a sweep for people: a summary, then what needs a person, then the rest. */
export function sweepLines(view: SweepView): Lines {
  const { report, server, program } = view;
  const { cluster, provider, readable } = report;
  return [
    // For an unreadable cluster a count would be wrong, even zero.
    readable
      ? judged(view)
      : [hang(bad('✖ '), bad(`${cluster} · ${PROVIDER_NAMES[provider]} · not readable`)), serverLine(server)],
    report.problems
      .slice(0, MAX_OTHERS)
      .map(({ object, message, remedy }) => ['', problemLines(`${object}: ${message}`, pasteable(remedy, program))]),
    '',
    faint(cost(report)),
  ];
}

/** For a job that relies on the exit status. */
export const HOSTILE_PASSES = 'Exit status 0 despite a hostile request; for status 1: --fail-on hostile\n';

/** Whether a request is provably hostile. */
export function isHostile({ rows }: SweepReport): boolean {
  return rows.some(({ hostile }) => hostile);
}

/** Ignored, but pending: another sweep may judge them, or a person. */
const PENDING: readonly Reason[] = [
  'RequesterMisnamed',
  'RequesterNotNode',
  'TooYoung',
  'Orphaned',
  'Superseded',
  'Deleting',
];

/** How many pending requests were ignored. */
function pendingIgnored({ ignored }: SweepReport): number {
  return PENDING.reduce((sum, reason) => sum + (ignored[reason] ?? 0), 0);
}

function isIdle(report: SweepReport): boolean {
  return report.rows.length === 0 && report.complete && pendingIgnored(report) === 0;
}

/** `5 would be approved`, `5 would be approved, 1 would be denied`. */
function wouldBe(rows: readonly SweepRow[]): string {
  const unwritten = rows.filter(({ outcome }) => outcome === 'observed');
  const denied = unwritten.filter(({ verdict }) => verdict === 'deny').length;
  return joined([`${unwritten.length - denied} would be approved`, denied > 0 && `${denied} would be denied`]);
}

/**
 * What to do first about a cluster that cannot be read. A remedy can be a command that writes, and names no cluster:
 * doctor prints it.
 *
 * @param doctor the options of doctor for this cluster
 * @param names those of runbook
 */
// oxlint-disable-next-line max-params -- internal
export function unreadableNext(
  { provider, problems }: SweepReport,
  program: string,
  doctor: string,
  names = '',
): string {
  const isExpired = problems.some(isOfExpiredEndpoint);
  return isExpired ? `${pasteable(expiredServerRunbook(provider), program)}${names}` : `${program} doctor${doctor}`;
}

/** The summary of one cluster for a fleet, with the next command. */
export function sweepStory(
  report: SweepReport,
  {
    program,
    repeat,
    repeatNames,
    doctor,
  }: Pick<SweepView, 'program' | 'repeat' | 'repeatNames'> & { readonly doctor: string },
): Lines {
  const { cluster, provider, readable, counts, rows, problems } = report;
  const name = `${cluster} · ${PROVIDER_NAMES[provider]}`;
  const [problem] = problems;
  if (!readable) {
    const why = problem === undefined ? '' : `: ${problem.object}: ${problem.message}`;
    const next = unreadableNext(report, program, doctor, repeatNames);
    return [hang(bad('✖ '), bad(`${name} · not readable${why}`)), `    → ${next}`];
  }
  const hostile = rows.filter((row) => row.hostile).length;
  const left = rows.filter((row) => row.hostile && row.verdict === 'leave').length;
  const pending = pendingIgnored(report);
  const story = joined([
    ...(isIdle(report)
      ? ['no request waits']
      : [wouldBe(rows), `${counts.left} not approved${left > 0 ? ` (${left} provably hostile)` : ''}`]),
    pending > 0 && `${pending} pending but ignored`,
    problem !== undefined && `${problem.object}: ${problem.message}`,
    problems.length > 1 && `${counted(problems.length - 1, 'problem')} more`,
  ]);
  const isDone = isIdle(report) || (rows.length > 0 && pending === 0);
  const mark =
    hostile > 0 ? bad('✖ ') : counts.left + problems.length > 0 ? warn('! ') : isDone ? good('✔ ') : faint('· ');
  return [
    hang(mark, `${strong(name)} · ${story}`),
    (!isIdle(report) || problems.length > 0) && `    → ${program} sweep${repeat}`,
  ];
}

function judged({ report, server, yes = false, policies, program, repeat, repeatNames }: SweepView): Lines {
  const { misnamed = [], provider } = report;
  const rows = report.rows.toSorted((a, b) => urgency(a) - urgency(b) || compare(a.reason, b.reason));
  const others = rows.filter(({ verdict }) => verdict !== 'approve');
  const approvals = rows.filter(({ verdict }) => verdict === 'approve');
  const shown = [...others.slice(0, MAX_OTHERS), ...approvals.slice(0, MAX_APPROVALS)];
  const hidden = rows.length - shown.length;
  const [first] = others;
  const next = (first ?? misnamed[0])?.csr ?? '';
  const advice = first !== undefined && hostileAdvice(first, program, repeatNames);
  return [
    hang('', `${strong(report.cluster)} · ${PROVIDER_NAMES[provider]} · ${inForce(policies, provider, yes)}`),
    serverLine(server),
    '',
    table(summary(report, others, yes, whyUnwritten(policies, provider, yes))),
    shown.length + misnamed.length > 0 && [
      '',
      table(
        [
          ['CSR', 'NODE', 'AGE', 'VERDICT', 'WHY'].map(faint),
          ...shown.map((row, index) => cells(row, shown[index - 1])),
          ...misnamed.map(({ csr, message }) => [csr, '', '', faint('· ignored'), message]),
        ],
        80,
      ),
    ],
    hidden > 0 && `  … and ${hidden} more; --output json lists them all`,
    advice !== false && ['', hang('  ✖ ', advice, bad)],
    KUBERNETES_NAME.test(next) && ['', `  → ${program} explain ${next}${repeat}`],
  ];
}

/** Of a name of another node. Other hostile requests can have harmless causes, which explain names. */
function hostileAdvice({ csr, node, message, hostile }: SweepRow, program: string, names: string): string | false {
  const isOfAnother = hostile && NAME_OF_ANOTHER.test(message);
  if (!isOfAnother || !KUBERNETES_NAME.test(csr) || !KUBERNETES_NAME.test(node)) return false;
  return `Do not approve ${csr}. Unless someone moved this name to ${node} on purpose, ${node} may be compromised: ${program} runbook san-not-owned${names}`;
}

/** `policy default (enforce)`, `dry run (policy default)` */
function inForce(policies: readonly ApprovalPolicy[], provider: Provider, yes: boolean): string {
  if (policies.length === 0) return 'no policy selects it';
  if (yes) return policies.map(({ name, mode }) => `policy ${name} (${mode[provider]})`).join(', ');
  return `dry run (${policies.map(({ name, mode }) => `policy ${name}${mode[provider] === 'enforce' ? '' : ', observe'}`).join('; ')})`;
}

// The only names that a CertificateSigningRequest can have: no other text of a cluster gets into a command to paste.
const KUBERNETES_NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/;

const ABOUT_FOREIGN_NAMES: ReadonlySet<Reason> = new Set(['SanNotOwned', 'SanReserved', 'SanContested']);

/** The most urgent row has the smallest number. */
function urgency({ verdict, hostile, reason, outcome }: SweepRow): number {
  if (verdict === 'approve') return outcome === 'written' || outcome === 'observed' ? 5 : 4;
  if (hostile) return 0;
  if (ABOUT_FOREIGN_NAMES.has(reason)) return 1;
  // Most of these are proven a minute later.
  return reason === 'EvidenceMissing' ? 3 : 2;
}

/** Why what is proven is not approved. */
function whyUnwritten(policies: readonly ApprovalPolicy[], provider: Provider, yes: boolean): string {
  const enforces = policies.some(({ mode }) => mode[provider] === 'enforce');
  if (!yes && enforces) return 'dry run: nothing is written without --yes';
  return policies.length === 0 ? '' : 'nothing is written: the policy only observes';
}

function summary(report: SweepReport, others: readonly SweepRow[], yes: boolean, why: string): string[][] {
  const { counts, ignored, rows } = report;
  if (isIdle(report) && counts.ignored === 0) return [[good('✔'), 'no request waits', '']];
  const lines: string[][] = [];
  if (counts.approved > 0 || (yes && counts.wouldWrite === 0))
    lines.push([good('✔'), `${counts.approved} approved`, counts.approved > 0 ? 'every name proven' : '']);
  if (!yes || counts.wouldWrite > 0) lines.push([good('◇'), wouldBe(rows), why]);
  if (counts.denied > 0) lines.push([bad('✖'), `${counts.denied} denied`, 'provably hostile']);
  if (counts.failed > 0) lines.push([bad('✖'), `${counts.failed} not written`, 'see below']);
  const left = others.filter(({ verdict }) => verdict === 'leave');
  const mark = left.some(({ hostile }) => hostile) ? bad('✖') : warn('◌');
  lines.push([mark, `${counts.left} not approved`, byReason(left)]);
  const reasons = Object.entries(ignored).map(([reason, count]) => `${count} ${reason}`);
  lines.push([faint('·'), `${counts.ignored} ignored`, reasons.join(', ')]);
  return lines;
}

function byReason(rows: readonly SweepRow[]): string {
  const groups = Map.groupBy(rows, ({ reason, hostile }) => `${reason}${hostile ? ' (provably hostile)' : ''}`);
  return [...groups].map(([label, group]) => `${group.length} ${label}`).join(', ');
}

// These are about the cluster, not about the request: print them once.
const ABOUT_THE_CLUSTER: ReadonlySet<Reason> = new Set(['NoPolicySelected', 'EvidenceUnreadable']);

function cells(row: SweepRow, above: SweepRow | undefined): string[] {
  const repeats = above?.reason === row.reason && ABOUT_THE_CLUSTER.has(row.reason);
  const message = repeats ? 'as above' : row.message;
  const why = row.verdict === 'approve' ? message : `${message}  ${faint(row.reason)}`;
  return [row.csr, row.node, shortDuration(row.ageSeconds), verdictCell(row), why];
}

const PAINTS: Readonly<Record<VerdictWords['tone'], Paint>> = { critical: bad, warning: warn, well: good, soft: faint };

function verdictCell(row: SweepRow): string {
  const { tone, words } = verdictWords(row);
  return PAINTS[tone](words);
}

function cost({ durationMs, requests: { sent, writes, retries }, readable }: SweepReport): string {
  return joined([
    took(durationMs),
    counted(sent - writes, 'read'),
    readable && counted(writes, 'write'),
    retries > 0 && counted(retries, 'retry', 'retries'),
  ]);
}
