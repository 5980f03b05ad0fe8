import type { ApprovalPolicy } from '../../lambdas/approval/policy.ts';
import { isFor } from '../../lambdas/approval/selection.ts';
import { pasteable } from '../../lambdas/command.ts';
import type { ClusterHealth, FleetHealth } from '../../lambdas/health/fleet-health.ts';
import { problemsOf } from '../../lambdas/page/cluster-rows.ts';
import { stateWords } from '../../lambdas/page/words.ts';
import { printable } from '../../lambdas/printable.ts';
import { NOT_READ, SEVERITIES, type Severity } from '../../lambdas/tables/finding-codes.ts';
import { messageOf } from '../../lambdas/words/findings.ts';
import { counted } from '../../lambdas/words.ts';
import { hang, type Lines } from '../terminal/draw.ts';
import { bad, faint, good, type Paint, strong, warn } from '../terminal/paint.ts';
import { day, joined } from '../terminal/words.ts';

/** What happens on purpose. */
const NOTICES: ReadonlySet<string> = new Set(['recovery-connection', 'recovery-nodes']);
const NAME_COLUMNS = 22;
const STATE_COLUMNS = 22;

const PAINTS: Readonly<Record<ClusterHealth['state'], Paint>> = {
  critical: bad,
  warning: warn,
  noted: warn,
  new: faint,
  maintenance: faint,
  well: good,
  gone: faint,
};

/** Present clusters that were not read, or only in part. */
export function unreadIn({ clusters }: FleetHealth): readonly ClusterHealth[] {
  return clusters.filter(
    ({ state, readable, findings, audit }) =>
      state !== 'gone' &&
      (!readable || findings.some(({ kind }) => !NOTICES.has(kind)) || (audit?.sources.unread.length ?? 0) > 0),
  );
}

/** Whether the last sweep of a cluster saw a request that is provably hostile. */
export function isHostile({ verdicts, sweptAt }: ClusterHealth): boolean {
  return verdicts.some(({ hostile, at }) => hostile && at === sweptAt);
}

export function reaches({ audit }: ClusterHealth, limit: Severity): boolean {
  return SEVERITIES.slice(0, SEVERITIES.indexOf(limit) + 1).some((severity) => (audit?.counts[severity] ?? 0) > 0);
}

/** Clusters where only the missing `--yes` prevented a write. @param policies as written, not as in force */
export function awaitingYes({ clusters }: FleetHealth, policies: readonly ApprovalPolicy[]): readonly ClusterHealth[] {
  return clusters.filter(
    ({ name, provider, requests }) =>
      provider !== undefined &&
      (requests?.wouldWrite ?? 0) > 0 &&
      policies.some((policy) => isFor(policy, { name, provider }) && policy.mode[provider] === 'enforce'),
  );
}

/** One minute of a fleet: a table, the most urgent cluster first, of at most 80 columns on a terminal of that width. */
export function minuteLines(health: FleetHealth, program: string, also: ReadonlyMap<string, readonly string[]>): Lines {
  const { at, clusters, counts, problems } = health;
  const present = clusters.length - counts.gone;
  const notRead = clusters.filter(({ state, readable }) => state !== 'gone' && !readable).length;
  const inPart = unreadIn(health).length - notRead;
  const story = joined([
    counted(present, 'cluster'),
    counts.critical > 0 && `${counts.critical} critical`,
    counts.warning + counts.noted > 0 && counted(counts.warning + counts.noted, 'warning'),
    notRead > 0 && `${notRead} not read`,
    inPart > 0 && `${inPart} read in part`,
  ]);
  return [
    hang('', `${strong(at.slice(11, 16))} UTC · ${story}`),
    '',
    faint(row(['CLUSTER', 'STATE', 'APPROVED', 'LEFT', 'EXPIRES FIRST'])),
    clusters
      .filter(({ state }) => state !== 'gone')
      .map((cluster) => clusterLines(cluster, program, also, Date.parse(at))),
    problems.map(({ object, message, remedy }) => [
      '',
      hang(`  ${bad('✖')} `, `${printable(object, 200)}: ${message}`),
      hang('    → ', pasteable(remedy, program)),
    ]),
  ];
}

function clusterLines(
  cluster: ClusterHealth,
  program: string,
  also: ReadonlyMap<string, readonly string[]>,
  now: number,
): Lines {
  const { id, requests, audit, readable, state } = cluster;
  const first = audit?.ends.map(({ notAfter }) => notAfter).toSorted((a, b) => Date.parse(a) - Date.parse(b))[0];
  const { approved = 0, wouldWrite = 0, left = 0 } = requests ?? {};
  const [worst] = problemsOf(cluster, now);
  const aliases = also.get(id) ?? [];
  const [problem] = readable ? [] : cluster.findings;
  const [urgent] = cluster.signals;
  // Why it is not read.
  const isStory =
    worst !== undefined && (urgent === undefined || urgent.id === 'NeverReadFor' || urgent.id === 'UnreadableFor');
  return [
    row([
      strong(id.length > NAME_COLUMNS ? `${id.slice(0, NAME_COLUMNS - 1)}…` : id.padEnd(NAME_COLUMNS)),
      PAINTS[state](stateWords(cluster).padEnd(STATE_COLUMNS)),
      readable ? (wouldWrite > 0 ? `${wouldWrite} would` : String(approved)) : '–',
      readable ? String(left) : '–',
      first === undefined ? 'unknown' : day(first),
    ]),
    worst !== undefined && hang('    ', pasteable(worst, program)),
    problem !== undefined && !isStory && hang('    ', pasteable(problem.message, program)),
    problem !== undefined && `    → ${pasteable(problem.remedy, program)}`,
    isHostile(cluster) &&
      !cluster.signals.some(({ id: signal }) => signal === 'RequestsHostile') &&
      hang('    ', bad('a CSR is provably hostile')),
    aliases.length > 0 && hang('    ', faint(`the same API server: ${printable(aliases.join(', '), 200)}`)),
  ];
}

function row([name = '', state = '', approved = '', left = '', first = '']: readonly string[]): string {
  return `  ${name.padEnd(NAME_COLUMNS)}  ${state.padEnd(STATE_COLUMNS)}  ${approved.padEnd(8)}  ${left.padEnd(4)}  ${first}`.trimEnd();
}

/** What audits found, by urgency. A cluster that was not read has its reason in the table. */
export function findingLines({ at, clusters }: FleetHealth, program: string): Lines {
  const all = clusters.flatMap(({ id, audit }) =>
    (audit?.findings ?? [])
      .filter(({ severity, code }) => severity !== 'info' && !NOT_READ.has(code))
      .map((finding) => ({ id, severity: finding.severity, message: messageOf(finding, Date.parse(at)) })),
  );
  const sorted = SEVERITIES.flatMap((level) => all.filter(({ severity }) => severity === level));
  return sorted
    .slice(0, MAX_FINDINGS)
    .map(({ id, severity, message }) => [
      hang(`  ${severity === 'critical' ? bad('✖') : warn('!')} `, `${strong(id)}  ${pasteable(message, program)}`),
    ]);
}

const MAX_FINDINGS = 50;
