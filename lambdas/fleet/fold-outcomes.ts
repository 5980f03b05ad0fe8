import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { Finding, FleetIndex, IndexedCluster, IndexedRollout } from '../contracts/fleet-index.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Registry } from '../contracts/registry.ts';
import type { RolloutSummary } from '../contracts/rollout-summary.ts';
import { isJustRebuilt } from '../health/rebuilt.ts';
import { entryOf } from '../tables/keys.ts';
import { DAY_MS, isAhead } from '../time.ts';
import { newCounts } from './count-csrs.ts';
import { foldVerdicts } from './verdict-lines.ts';

const KEPT_MS = 30 * DAY_MS;
/** Most clusters, the last swept ones. Far more than a fleet has. */
const MAX_CLUSTERS = 50_000;

/**
 * Folds outcomes into the fleet index. Pure.
 *
 * The result does not depend on order, batching or repetition of outcomes, except `countedTo` (see {@link newCounts}) and
 * {@link Finding.since}: it is never
 * later than with each outcome once and in order, and never before the first outcome with the finding. The next outcome
 * makes up for a lost one, except for written decisions, which the journal has. An audit without knowledge of earlier
 * ones changes nothing. Two outcomes of one cluster that began in the same millisecond are the same.
 *
 * Outcomes more than ten minutes ahead of `now` are ignored; clusters whose newest outcome is 30 days old are
 * forgotten.
 *
 * @param now milliseconds since the epoch
 * @param counts the new counts of these outcomes
 */
export function foldOutcomes(
  index: FleetIndex | undefined,
  outcomes: readonly SweepOutcome[],
  now: number,
  counts = newCounts(index, outcomes, now),
): FleetIndex {
  const clusters = new Map(Object.entries(index?.clusters ?? {}));
  const current = outcomes.filter(({ startedAt }) => !isAhead(startedAt, now) && now - Date.parse(startedAt) < KEPT_MS);
  for (const outcome of current) {
    const before = clusters.get(outcome.id);
    const folded = outcome.byWebhook ? before && withVerdicts(before, outcome, now) : foldSweep(before, outcome, now);
    if (folded !== undefined) clusters.set(outcome.id, folded);
  }
  for (const [id, { to }] of counts) {
    const cluster = clusters.get(id);
    if (cluster !== undefined) clusters.set(id, { ...cluster, countedTo: to });
  }
  return {
    version: 2,
    writtenAt: new Date(now).toISOString(),
    rebuiltAt: index === undefined ? new Date(now).toISOString() : index.rebuiltAt,
    reported: index?.reported,
    problems: index?.problems ?? [],
    apart: index?.apart ?? {},
    health: index?.health,
    series: index?.series ?? [],
    clusters: kept(clusters, now),
  };
}

function withVerdicts(before: IndexedCluster, { verdicts = [] }: SweepOutcome, now: number): IndexedCluster {
  return { ...before, verdicts: orAbsent(foldVerdicts(before.verdicts ?? [], verdicts, now)) };
}

function foldSweep(before: IndexedCluster | undefined, outcome: SweepOutcome, now: number): IndexedCluster {
  const lasting = {
    ...lastingOf(before, outcome, now),
    countedTo: before?.countedTo,
    verdicts: orAbsent(foldVerdicts(before?.verdicts ?? [], outcome.verdicts ?? [], now)),
  };
  const { id, name, provider, startedAt, durationMs, readable, complete, counts, problems, problemCount } = outcome;
  if (before !== undefined && startedAt <= before.sweptAt) {
    const { verdicts: _, ...state } = before;
    return { ...state, ...lasting, findings: sinceAtLeast(before.findings, problems, startedAt) };
  }
  return {
    id,
    name,
    provider,
    counts,
    sweptAt: startedAt,
    durationMs,
    readable,
    complete,
    findings: findingsOf(problems, startedAt, before?.findings),
    findingCount: problemCount,
    ...lasting,
  };
}

/** The value of the newest outcome that knows it, however old: each part has its own time. */
function lastingOf(
  before: IndexedCluster | undefined,
  {
    startedAt,
    untried,
    heavy,
    readable,
    complete,
    server,
    workloadClusters,
    workloadClustersCut: cut,
    endpointAddresses,
    audit,
    rollout,
  }: SweepOutcome,
  now: number,
): Partial<IndexedCluster> {
  const isNewer = (time: string | undefined) => time === undefined || startedAt > time;
  const hasServer = server !== undefined && isNewer(before?.serverAt);
  return {
    triedAt: !untried && isNewer(before?.triedAt) ? startedAt : before?.triedAt,
    heavyAt: heavy && isNewer(before?.heavyAt) ? startedAt : before?.heavyAt,
    readableAt: readable && isNewer(before?.readableAt) ? startedAt : before?.readableAt,
    server: hasServer ? server : before?.server,
    serverAt: hasServer ? startedAt : before?.serverAt,
    completeAt: complete && isNewer(before?.completeAt) ? startedAt : before?.completeAt,
    workloadClusters:
      workloadClusters !== undefined && isNewer(before?.workloadClusters?.readAt)
        ? { readAt: startedAt, clusters: workloadClusters, cut }
        : before?.workloadClusters,
    endpoint:
      endpointAddresses !== undefined && isNewer(before?.endpoint?.at)
        ? { at: startedAt, addresses: endpointAddresses }
        : before?.endpoint,
    // A snapshot outlives its cluster, and another one may have its id.
    audit: lastAudit(before?.audit, audit && now - Date.parse(audit.auditedAt) < KEPT_MS ? audit : undefined),
    rollout: lastRollout(before?.rollout, rollout),
  };
}

function orAbsent<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function lastAudit(before: AuditSummary | undefined, audit: AuditSummary | undefined): AuditSummary | undefined {
  if (before === undefined || audit === undefined) return audit ?? before;
  const [older, newer] = audit.auditedAt > before.auditedAt ? [before, audit] : [audit, before];
  return newer.partial && older.auditedAt < newer.auditedAt
    ? { ...older, snapshotProblem: newer.snapshotProblem }
    : newer;
}

function lastRollout(
  before: IndexedRollout | undefined,
  rollout: RolloutSummary | undefined,
): IndexedRollout | undefined {
  if (before === undefined) return rollout && { ...rollout, since: rollout.at };
  if (rollout === undefined) return before;
  const same = rollout.state === before.state && rollout.rollout?.id === before.rollout?.id;
  // A late outcome only shows that the state existed earlier.
  if (rollout.at <= before.at) return same && rollout.at < before.since ? { ...before, since: rollout.at } : before;
  return { ...rollout, since: same ? before.since : rollout.at };
}

/** With the start of each, if it was there before. Pure. */
export function findingsOf(
  problems: readonly Problem[],
  startedAt: string,
  before: readonly Finding[] | undefined,
): readonly Finding[] {
  const since = new Map(before?.map((finding) => [keyOf(finding), finding.since]));
  return problems.map((problem) => ({ ...problem, since: since.get(keyOf(problem)) ?? startedAt }));
}

/** A late outcome only shows that a finding existed earlier. */
function sinceAtLeast(findings: readonly Finding[], problems: readonly Problem[], time: string): readonly Finding[] {
  const had = new Set(problems.map(keyOf));
  return findings.map((finding) =>
    had.has(keyOf(finding)) && time < finding.since ? { ...finding, since: time } : finding,
  );
}

function keyOf({ kind, object }: Problem): string {
  return JSON.stringify([kind, object]);
}

function kept(clusters: ReadonlyMap<string, IndexedCluster>, now: number): FleetIndex['clusters'] {
  const newest = [...clusters.values()]
    .filter(({ sweptAt }) => now - Date.parse(sweptAt) < KEPT_MS)
    .toSorted((a, b) => (a.sweptAt > b.sweptAt ? -1 : Number(a.sweptAt < b.sweptAt)))
    .slice(0, MAX_CLUSTERS)
    .map((cluster) => [cluster.id, cluster] as const);
  return Object.fromEntries(newest.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
}

interface SweepAge {
  readonly id: string;
  /**
   * Since the start of the last sweep that tried to reach it, successful or not; since it was found if there was none.
   */
  readonly ageMs: number;
}

/**
 * How long ago each cluster was swept: whether certmarshal itself works. A cluster that does not answer, is missing or
 * cannot be swept is a finding of that cluster, not an age. A sweep that never got to the cluster does not count. Nor
 * does a cluster that a just rebuilt index has not heard of.
 *
 * @param now milliseconds since the epoch
 */
export function sweepAges(registry: Registry, index: FleetIndex | undefined, now: number): readonly SweepAge[] {
  const isNew = isJustRebuilt(index?.rebuiltAt, now);
  return Object.values(registry.clusters).flatMap(({ id, foundAt, target }) => {
    const { triedAt } = entryOf(index?.clusters, id) ?? {};
    if (target === undefined || (triedAt === undefined && isNew)) return [];
    return [{ id, ageMs: Math.max(0, now - Date.parse(triedAt ?? foundAt)) }];
  });
}
