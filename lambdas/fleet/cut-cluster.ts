import { byUrgency } from '../audit/rules/findings.ts';
import { type AuditSummary, type FindingTally, kindOf } from '../contracts/audit-summary.ts';
import type { FateRow, SloLedger } from '../contracts/fates.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import type { Finding, IndexedCluster } from '../contracts/fleet-index.ts';
import type { VerdictLine } from '../contracts/outcome.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import { signalOf } from '../health/finding-signals.ts';
import { fitting } from './fitting.ts';

/** Characters. The beginning of a text tells the most. */
const SHORT = 80;
const FIRST_FINDINGS = 3;
/** Periods that are told as one. */
const MERGED_HOURS = 6;
const MERGED_DAYS = 8;
const MINUTES_OF_HOUR = 60;

/** Takes something of what is kept of a cluster; what has nothing of it comes back as it is. Twice is once. Pure. */
export type Cut = (cluster: IndexedCluster) => IndexedCluster;

/**
 * In this order. They take details only: no signal, no story of one, no count, tally, severity or time changes, nor how and when the cluster was reached.
 */
export const DETAIL_CUTS: readonly Cut[] = [
  ordinaryVerdicts,
  textsOfAudit,
  findingsOfAudit,
  textsOfSweep,
  (cluster) => laterEnds(cluster, 3),
  (cluster) => laterWorkloadClusters(cluster, 2_000),
  textsOfHostile,
  findingsOfSweep,
  detailsOfRollout,
];

/**
 * What is left to take when thousands of clusters each make as much as they can: stories are short, the worst finding and the newest hostile request alone are
 * told, the other findings are counted and have no class, and the objective knows hours instead of minutes, so that of its burn only the slow one is told.
 * Everything else that rings goes on ringing.
 */
export const LAST_CUTS: readonly Cut[] = [
  stories,
  laterFindings,
  (cluster) => laterEnds(cluster, 1),
  (cluster) => laterWorkloadClusters(cluster, 0),
  olderHostile,
  classes,
  coarseLedger,
  laterReasons,
];

function ordinaryVerdicts(cluster: IndexedCluster): IndexedCluster {
  return withVerdicts(cluster, (verdicts) => verdicts.filter(({ hostile }) => hostile));
}

function textsOfAudit(cluster: IndexedCluster): IndexedCluster {
  return withAudit(cluster, (audit) => {
    const kept = toldBySignals(audit);
    return {
      findings: audit.findings.map((finding) => (kept.has(finding) ? finding : shortFinding(finding))),
    };
  });
}

function findingsOfAudit(cluster: IndexedCluster): IndexedCluster {
  return withAudit(cluster, (audit) => {
    const kept = toldBySignals(audit);
    const counted = countedOf(audit);
    return { findings: audit.findings.filter((finding) => kept.has(finding) || !counted(finding)) };
  });
}

function textsOfSweep(cluster: IndexedCluster): IndexedCluster {
  return { ...cluster, findings: cluster.findings.map((finding, n) => (n === 0 ? finding : shortProblem(finding))) };
}

function findingsOfSweep(cluster: IndexedCluster): IndexedCluster {
  return { ...cluster, findings: cluster.findings.slice(0, 1) };
}

function laterEnds(cluster: IndexedCluster, most: number): IndexedCluster {
  return withAudit(cluster, ({ ends }) => ({
    ends: ends.toSorted((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter)).slice(0, most),
  }));
}

/** Nothing is concluded from one that is not among them: what was found stays, and a new one is found when there is room again. */
function laterWorkloadClusters(cluster: IndexedCluster, size: number): IndexedCluster {
  const { workloadClusters } = cluster;
  if (workloadClusters === undefined) return cluster;
  const clusters = fitting(workloadClusters.clusters, Number.POSITIVE_INFINITY, size);
  if (clusters.length === workloadClusters.clusters.length) return cluster;
  return { ...cluster, workloadClusters: { ...workloadClusters, clusters, cut: true } };
}

function textsOfHostile(cluster: IndexedCluster): IndexedCluster {
  return withVerdicts(cluster, (verdicts) => {
    const newest = newestHostile(verdicts);
    // Which nodes they name is told; of the older ones nothing else.
    return verdicts.map((line) => (line === newest ? line : { ...line, csr: cutName(line), message: '' }));
  });
}

/** What stops it stays by name; a machine is told by how many of them there are. */
function detailsOfRollout(cluster: IndexedCluster): IndexedCluster {
  const { rollout } = cluster;
  if (rollout === undefined) return cluster;
  const { progress } = rollout;
  const counted = progress && {
    ...progress,
    machines: [],
    ...(progress.etcd === undefined ? {} : { etcd: { ...progress.etcd, machines: [] } }),
  };
  return {
    ...cluster,
    rollout: {
      ...rollout,
      failed: rollout.failed.map(({ id, found, passing }) => ({ id, found: short(found), passing })),
      reasons: rollout.reasons.map((reason, n) => (n === 0 ? reason : shortReason(reason))),
      progress: counted,
    },
  };
}

function laterReasons(cluster: IndexedCluster): IndexedCluster {
  const { rollout } = cluster;
  if (rollout === undefined) return cluster;
  return {
    ...cluster,
    rollout: {
      ...rollout,
      message: short(rollout.message),
      failed: rollout.failed.slice(0, 1),
      reasons: rollout.reasons.slice(0, 1).map(shortReason),
    },
  };
}

function stories(cluster: IndexedCluster): IndexedCluster {
  const told = {
    ...cluster,
    findings: cluster.findings.map((finding) => ({ ...shortProblem(finding), object: short(finding.object) })),
  };
  return withVerdicts(
    withAudit(told, ({ findings }) => ({
      findings: findings.map((finding) => ({ ...shortFinding(finding), object: short(finding.object) })),
    })),
    (verdicts) => verdicts.map(shortLine),
  );
}

function laterFindings(cluster: IndexedCluster): IndexedCluster {
  return withAudit(cluster, (audit) => {
    const [worst] = audit.findings.toSorted(byUrgency);
    const counted = countedOf(audit);
    return { findings: audit.findings.filter((finding) => finding === worst || !counted(finding)) };
  });
}

function olderHostile(cluster: IndexedCluster): IndexedCluster {
  return withVerdicts(cluster, (verdicts) => {
    const newest = newestHostile(verdicts);
    return verdicts.filter((line) => line === newest);
  });
}

/** Findings that have a class would be counted once more, as a kind of their own. */
function classes(cluster: IndexedCluster): IndexedCluster {
  return withAudit(cluster, ({ findings, tally }) => {
    if (tally === undefined) return {};
    const counts = new Map<string, FindingTally>();
    for (const { code, severity, count } of tally) {
      const key = kindOf({ code, severity });
      counts.set(key, { code, severity, count: count + (counts.get(key)?.count ?? 0) });
    }
    return { tally: [...counts.values()], findings: findings.map(withoutClass) };
  });
}

/** What was told stays told: minutes that are closed here count no second time. */
function coarseLedger(cluster: IndexedCluster): IndexedCluster {
  const { slo } = cluster;
  if (slo === undefined) return cluster;
  const { open, hours, days, since, closedBefore = 0 } = slo;
  // What was asked before the first look does not count.
  const told = open.filter(([minute]) => minute * 60_000 >= (since ?? 0));
  const closed = told.map(([minute, us, others, missed, refused, unprovable]): FateRow => {
    const hour = Math.floor(minute / MINUTES_OF_HOUR);
    return [hour, us, others, missed, refused, unprovable];
  });
  const all = [...hours, ...closed];
  const latest = Math.max(0, ...all.map(([hour]) => hour));
  const coarse: SloLedger = {
    ...slo,
    open: [],
    hours: merged(all, (hour) => (hour < firstOf(latest, MERGED_HOURS) ? firstOf(hour, MERGED_HOURS) : hour)),
    days: merged(days, (day) => firstOf(day, MERGED_DAYS)),
    closedBefore: Math.max(closedBefore, ...open.map(([minute]) => minute + 1)),
  };
  return { ...cluster, slo: coarse };
}

function firstOf(period: number, periods: number): number {
  return Math.floor(period / periods) * periods;
}

function merged(rows: readonly FateRow[], into: (period: number) => number): readonly FateRow[] {
  return rows
    .map(([period, ...counts]): FateRow => [into(period), ...counts])
    .reduce<readonly FateRow[]>(summed, [])
    .toSorted(([a], [b]) => a - b);
}

function summed(rows: readonly FateRow[], row: FateRow): readonly FateRow[] {
  const [at, us, others, missed, refused, unprovable] = row;
  const known = rows.find(([other]) => other === at);
  if (known === undefined) return [...rows, row];
  const sum: FateRow = [
    at,
    known[1] + us,
    known[2] + others,
    known[3] + missed,
    known[4] + refused,
    known[5] + unprovable,
  ];
  return rows.map((other) => (other === known ? sum : other));
}

/** Of each signal the finding that tells its story; and the first ones. */
function toldBySignals({ findings }: AuditSummary): ReadonlySet<KeptFinding> {
  const sorted = findings.toSorted(byUrgency);
  const groups = Map.groupBy(sorted, signalOf);
  return new Set([
    ...sorted.slice(0, FIRST_FINDINGS),
    ...[...groups].flatMap(([signal, [worst]]) => (signal === undefined || worst === undefined ? [] : [worst])),
  ]);
}

/** Whether the tally counts at least as many of the kind of a finding as are shown; one of an earlier version counts none. */
function countedOf({ findings, tally = [] }: AuditSummary): (finding: KeptFinding) => boolean {
  const shown = Map.groupBy(findings, kindOf);
  const counts = new Map(tally.map((entry) => [kindOf(entry), entry.count]));
  return (finding) => (counts.get(kindOf(finding)) ?? 0) >= (shown.get(kindOf(finding))?.length ?? 0);
}

/** That of which people are told: the same as in the signal of hostile requests. */
function newestHostile(verdicts: readonly VerdictLine[]): VerdictLine | undefined {
  return verdicts
    .filter(({ hostile }) => hostile)
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.csr < b.csr ? -1 : Number(a.csr > b.csr)))
    .at(-1);
}

function withAudit(cluster: IndexedCluster, change: (audit: AuditSummary) => Partial<AuditSummary>): IndexedCluster {
  const { audit } = cluster;
  return audit === undefined ? cluster : { ...cluster, audit: { ...audit, ...change(audit) } };
}

function withVerdicts(
  cluster: IndexedCluster,
  change: (verdicts: readonly VerdictLine[]) => readonly VerdictLine[],
): IndexedCluster {
  const { verdicts: before, ...rest } = cluster;
  if (before === undefined) return cluster;
  const verdicts = change(before);
  return verdicts.length === 0 ? rest : { ...rest, verdicts };
}

/** Its object stays: it says which finding it is, and where it is in their order. */
function shortFinding(whole: KeptFinding): KeptFinding {
  const { places: _, renewedBy: __, ...finding } = whole;
  return { ...finding, message: short(finding.message) };
}

function withoutClass(finding: KeptFinding): KeptFinding {
  const { what: _, ...rest } = finding;
  return rest;
}

/** Kind and object stay: since when it is there hangs on them. */
function shortProblem(finding: Finding): Finding {
  return { ...finding, message: short(finding.message), remedy: short(finding.remedy) };
}

function shortReason({ id, message, remedy }: HoldReason): HoldReason {
  return { id, message: short(message), remedy: short(remedy) };
}

function shortLine(line: VerdictLine): VerdictLine {
  return { ...line, csr: cutName(line), node: short(line.node), message: short(line.message) };
}

/** Without an ellipsis: of two at the same time the greater name counts as the newer. */
function cutName({ csr }: VerdictLine): string {
  return csr.slice(0, SHORT).toWellFormed();
}

function short(text: string): string {
  return text.length <= SHORT ? text : `${text.slice(0, SHORT - 1).toWellFormed()}…`;
}
