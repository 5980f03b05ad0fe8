import { byUrgency } from '../audit/rules/findings.ts';
import { type AuditSummary, type FindingTally, kindOf } from '../contracts/audit-summary.ts';
import type { KeptFinding } from '../contracts/finding.ts';
import type { IndexedCluster } from '../contracts/fleet-index.ts';
import type { VerdictLine } from '../contracts/outcome.ts';
import type { HoldReason } from '../contracts/rollout-summary.ts';
import { fitting } from '../fitting.ts';
import { signalOf } from '../health/finding-signals.ts';

/** Characters. The beginning of a text says the most. */
const SHORT = 80;
/**
 * The texts that are shortened. An object, place or name identifies its entry, so only {@link terse} shortens those.
 */
type Text = 'message' | 'remedy' | 'found' | 'object' | 'node';
/** Findings of the audit, besides those that signals need. */
const FIRST_FINDINGS = 3;
const BRIEF_ENDS = 3;
/** Bytes of JSON. */
const BRIEF_WORKLOAD_CLUSTERS = 2_000;

/**
 * Cuts a cluster to about 40 kB, without details: signals, their stories, counts, tallies, severities and times stay,
 * and so does how and when the cluster was reached. Pure, idempotent.
 */
export function brief(cluster: IndexedCluster): IndexedCluster {
  const { verdicts = [], findings, rollout, audit } = cluster;
  const hostile = verdicts.filter((line) => line.hostile);
  const newest = newestOf(hostile);
  return {
    ...cluster,
    // Older ones keep only the names of their nodes.
    verdicts: orAbsent(hostile.map((line) => (line === newest ? line : { ...line, csr: cutName(line), message: '' }))),
    findings: findings.slice(0, 1),
    workloadClusters: fewerClusters(cluster, BRIEF_WORKLOAD_CLUSTERS),
    audit: audit && { ...audit, findings: briefFindings(audit), ends: earliest(audit, BRIEF_ENDS) },
    // Reasons that stop it stay; machines become a count.
    rollout: rollout && {
      ...rollout,
      failed: rollout.failed.map(({ id, found, passing }) => ({ id, found: short(found), passing })),
      reasons: rollout.reasons.map((reason, n) => (n === 0 ? reason : shortReason(reason))),
      progress: rollout.progress && {
        ...rollout.progress,
        machines: [],
        etcd: rollout.progress.etcd && { ...rollout.progress.etcd, machines: [] },
      },
    },
  };
}

/**
 * {@link brief}, in about 20 kB: all texts are short, and of counted findings only the worst stays. Every signal stays. Pure, idempotent.
 */
export function terse(whole: IndexedCluster): IndexedCluster {
  const cluster = brief(whole);
  const { verdicts, findings, rollout, audit } = cluster;
  return {
    ...cluster,
    verdicts: verdicts?.map((line) => ({ ...shortened(line, 'node', 'message'), csr: cutName(line) })),
    findings: findings.map((finding) => shortened(finding, 'message', 'remedy', 'object')),
    workloadClusters: fewerClusters(cluster, 0),
    audit: audit && { ...audit, findings: worstFinding(audit), ends: earliest(audit, 1) },
    rollout: rollout && {
      ...shortened(rollout, 'message'),
      failed: rollout.failed.slice(0, 1),
      reasons: rollout.reasons.slice(0, 1).map(shortReason),
    },
  };
}

/**
 * {@link terse}, in about 5 kB, for thousands of clusters of maximum size: only the newest hostile
 * request stays, and findings are counted without their class. Every signal stays. Pure, idempotent.
 */
export function bare(whole: IndexedCluster): IndexedCluster {
  const cluster = terse(whole);
  const { verdicts, audit } = cluster;
  return {
    ...cluster,
    verdicts: verdicts?.filter((line) => line === newestOf(verdicts)),
    audit: audit && { ...audit, ...withoutClasses(audit.findings, audit.tally) },
  };
}

/** The finding behind the story of each signal, and the first ones; others are dropped if the tally counts them. */
function briefFindings(audit: AuditSummary): AuditSummary['findings'] {
  const sorted = audit.findings.toSorted(byUrgency);
  const stories = Map.groupBy(sorted, signalOf);
  const told = new Set(sorted.slice(0, FIRST_FINDINGS));
  for (const [signal, [worst]] of stories) if (signal !== undefined && worst !== undefined) told.add(worst);
  const counted = countedOf(audit);
  return audit.findings.flatMap((finding) => {
    if (told.has(finding)) return [finding];
    return counted(finding) ? [] : [withoutPlaces(finding, 'message')];
  });
}

function worstFinding(audit: AuditSummary): AuditSummary['findings'] {
  const [worst] = audit.findings.toSorted(byUrgency);
  const counted = countedOf(audit);
  return audit.findings
    .filter((finding) => finding === worst || !counted(finding))
    .map((finding) => withoutPlaces(finding, 'message', 'object'));
}

/** Findings with a class would be counted twice, as a kind of their own. */
function withoutClasses(
  findings: readonly KeptFinding[],
  tally: readonly FindingTally[],
): Pick<AuditSummary, 'findings' | 'tally'> {
  const counts = new Map<string, FindingTally>();
  for (const { code, severity, count } of tally) {
    const kind = kindOf({ code, severity });
    counts.set(kind, { code, severity, count: count + (counts.get(kind)?.count ?? 0) });
  }
  return { findings: findings.map((finding) => ({ ...finding, what: undefined })), tally: [...counts.values()] };
}

function withoutPlaces(finding: KeptFinding, ...texts: ('message' | 'object')[]): KeptFinding {
  return { ...shortened(finding, ...texts), places: undefined, renewedBy: undefined };
}

/** Whether the tally counts at least as many of the finding's kind as are shown; one without classes may not. */
function countedOf({ findings, tally }: AuditSummary): (finding: KeptFinding) => boolean {
  const shown = Map.groupBy(findings, kindOf);
  const counts = new Map(tally.map((entry) => [kindOf(entry), entry.count]));
  return (finding) => (counts.get(kindOf(finding)) ?? 0) >= (shown.get(kindOf(finding))?.length ?? 0);
}

function earliest({ ends }: AuditSummary, most: number): AuditSummary['ends'] {
  return ends.toSorted((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter)).slice(0, most);
}

/** A missing one proves nothing: earlier findings stay, and new ones are found when there is room again. */
function fewerClusters({ workloadClusters }: IndexedCluster, size: number): IndexedCluster['workloadClusters'] {
  if (workloadClusters === undefined) return undefined;
  const clusters = fitting(workloadClusters.clusters, Number.POSITIVE_INFINITY, size);
  return clusters.length === workloadClusters.clusters.length
    ? workloadClusters
    : { ...workloadClusters, clusters, cut: true };
}

/** The one that people are notified of: the same as in the signal of hostile requests. */
function newestOf(hostile: readonly VerdictLine[]): VerdictLine | undefined {
  return hostile
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.csr < b.csr ? -1 : Number(a.csr > b.csr)))
    .at(-1);
}

function orAbsent<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function shortReason(reason: HoldReason): HoldReason {
  return shortened({ ...reason, object: undefined }, 'message', 'remedy');
}

/** Without an ellipsis, because of two at the same time the greater name counts as the newer. */
function cutName({ csr }: VerdictLine): string {
  return csr.slice(0, SHORT).toWellFormed();
}

function shortened<T extends { readonly [Key in K]?: string }, K extends Text>(value: T, ...texts: readonly K[]): T {
  return texts.reduce((sum, key) => ({ ...sum, [key]: short(value[key] ?? '') }), value);
}

function short(text: string): string {
  return text.length <= SHORT ? text : `${text.slice(0, SHORT - 1).toWellFormed()}…`;
}
