import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import { boundedProblem, type Problem } from '../contracts/problem.ts';
import type { RegisteredCluster, Registry, SourceRecord } from '../contracts/registry.ts';
import { isJustRebuilt } from '../health/rebuilt.ts';
import { entryOf } from '../tables/keys.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';
import type { FoundCluster, SourceResult } from './discover.ts';
import { LISTED } from './sources.ts';

/** How often a source is read, and how soon again after a failure. */
const CADENCE_MS = 10 * MINUTE_MS;
const RETRY_MS = 2 * MINUTE_MS;
/** Ticks come a little early and late. */
const JITTER_MS = MINUTE_MS / 2;
/** How long a missing cluster is still swept, and how long it is reported. */
const SWEPT_WHILE_MISSING_MS = 60 * MINUTE_MS;
const REPORTED_WHILE_MISSING_MS = 14 * DAY_MS;

/**
 * Updates the registry with the results of sources. Pure.
 *
 * - A failed source keeps all its clusters, except those it could still report.
 * - A cluster absent from a completely read source is missing: swept for an hour more, reported for 14 days, then
 * dropped.
 * - So is one that was sweepable and whose tags no longer select it: a user who sets tags must not be able to hide it.
 * - Anything removed from `fleet.yaml` is dropped at once: a source, a listed cluster, a cluster whose name is no
 * longer selected.
 * - An id belongs to the source that found it first; no other source changes or drops it, except `fleet.yaml`, which
 * the owner of the fleet wrote.
 *
 * @param now milliseconds since the epoch
 * @param asked every source of the fleet, by name. @default the known ones
 */
export function updateRegistry(
  previous: Registry | undefined,
  results: readonly SourceResult[],
  now: number,
  asked?: readonly string[],
): Registry {
  const isAsked = (source: string) => asked === undefined || asked.includes(source);
  const sources = new Map(Object.entries(previous?.sources ?? {}).filter(([source]) => isAsked(source)));
  const clusters = new Map(Object.entries(previous?.clusters ?? {}).filter(([, { source }]) => isAsked(source)));
  const writtenAt = new Date(now).toISOString();
  for (const result of results) {
    const { source } = result;
    const { own = [], foreign = [] } = Object.groupBy(result.clusters ?? [], ({ id }) =>
      isFree(clusters.get(id), source) ? 'own' : 'foreign',
    );
    sources.set(source, recordOf(result, foreign, sources.get(source), writtenAt));
    for (const found of own) {
      const next = registered(found, source, clusters.get(found.id), writtenAt);
      if (next === undefined) clusters.delete(found.id);
      else clusters.set(found.id, next);
    }
    if (!result.ok) continue;
    const shown = new Set(result.clusters.map(({ id }) => id));
    for (const cluster of clusters.values())
      if (cluster.source === source && !shown.has(cluster.id)) {
        if (source === LISTED) clusters.delete(cluster.id);
        else clusters.set(cluster.id, missed(cluster, writtenAt));
      }
  }
  const remaining = [...clusters].flatMap(([id, cluster]) => {
    const aged = withAge(cluster, now);
    return aged === undefined ? [] : [[id, aged] as const];
  });
  const rebuiltAt = previous === undefined ? writtenAt : previous.rebuiltAt;
  return { version: 1, writtenAt, rebuiltAt, sources: Object.fromEntries(sources), clusters: inOrder(remaining) };
}

/**
 * The sources to read now: new ones, those read ten minutes ago, and those that failed two minutes ago.
 *
 * @param asked every source of the fleet, by name
 * @param now milliseconds since the epoch
 */
export function dueSources(registry: Registry | undefined, asked: readonly string[], now: number): readonly string[] {
  return asked.filter((source) => {
    const record = entryOf(registry?.sources, source);
    return record === undefined || isDue(record, now);
  });
}

function isDue({ triedAt, readAt }: SourceRecord, now: number): boolean {
  const elapsed = now - Date.parse(triedAt);
  // A wrong clock must not stop the discovery.
  return elapsed < -JITTER_MS || elapsed + JITTER_MS >= (readAt === triedAt ? CADENCE_MS : RETRY_MS);
}

function isFree(known: RegisteredCluster | undefined, source: string): boolean {
  return known === undefined || known.source === source || source === LISTED;
}

function recordOf(
  result: SourceResult,
  [foreign]: readonly FoundCluster[],
  previous: SourceRecord | undefined,
  triedAt: string,
): SourceRecord {
  const { ok, source } = result;
  const problem = result.problem ?? (foreign === undefined ? undefined : foreignProblem(source, foreign.id));
  return {
    triedAt,
    readAt: ok ? triedAt : previous?.readAt,
    problem: problem === undefined ? undefined : boundedProblem(problem),
  };
}

/** Undefined when it is not, or no longer. */
function registered(
  found: FoundCluster,
  source: string,
  previous: RegisteredCluster | undefined,
  now: string,
): RegisteredCluster | undefined {
  const { id, unread, unwanted, untagged, managesClusters } = found;
  if (unwanted) return undefined;
  if (untagged) {
    if (previous?.target === undefined && previous?.missingSince === undefined) return undefined;
    return { ...missed(previous, now), untagged };
  }
  // Its tags were not read.
  if (unread && previous?.untagged) return previous;
  // Earlier problems of a missing cluster are over.
  const before = previous?.missingSince === undefined ? previous?.problem : undefined;
  const problem = unread ? (found.problem ?? before) : found.problem;
  return {
    id,
    source,
    foundAt: previous?.foundAt ?? now,
    seenAt: unread ? (previous?.seenAt ?? now) : now,
    target: unread ? previous?.target : found.target,
    problem: problem === undefined ? undefined : boundedProblem(problem),
    managesClusters,
    endpointAddresses: previous?.endpointAddresses,
  };
}

function missed(cluster: RegisteredCluster, now: string): RegisteredCluster {
  return { ...cluster, missingSince: cluster.missingSince ?? now, untagged: undefined };
}

/** The entry of a missing cluster. Undefined when it is forgotten. */
function withAge(cluster: RegisteredCluster, now: number): RegisteredCluster | undefined {
  const { missingSince, target, ...rest } = cluster;
  if (missingSince === undefined) return cluster;
  const age = now - Date.parse(missingSince);
  if (age >= REPORTED_WHILE_MISSING_MS) return undefined;
  const problem = boundedProblem(missing(cluster, missingSince));
  const swept = target !== undefined && age < SWEPT_WHILE_MISSING_MS;
  return { ...rest, missingSince, problem, ...(swept ? { target } : {}) };
}

function missing({ id, source, untagged }: RegisteredCluster, since: string): Problem {
  const end = new Date(Date.parse(since) + REPORTED_WHILE_MISSING_MS).toISOString().slice(0, 10);
  if (untagged)
    return {
      kind: 'missing',
      object: `cluster ${id}`,
      message: `its tags no longer select it, since ${since} or earlier, so nothing is written to it`,
      remedy: `If that is right, there is nothing to do: it is forgotten on ${end}, or at once when fleet.yaml excludes its name. If not, give it the tags that discovery in fleet.yaml asks for, and find out who changed them.`,
    };
  return {
    kind: 'missing',
    object: `cluster ${id}`,
    message: `${source} has not shown it since ${since}, so nothing is written to it`,
    remedy: `If it was deleted, there is nothing to do: it is forgotten on ${end}, or at once when fleet.yaml excludes it. If not, find out why ${source} does not show it.`,
  };
}

function foreignProblem(source: string, id: string): Problem {
  return {
    kind: 'repeated',
    object: source,
    message: `it shows cluster ${id}, which was found in another place first; the first one stays as it is`,
    remedy: 'Give the management cluster in fleet.yaml a name that is no account id, so that ids tell the two apart.',
  };
}

function inOrder<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
}

/**
 * A registry that was just rebuilt, with every cluster found when the index first heard of it: else the times in the
 * index would be those of an earlier cluster. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function foundBefore(registry: Registry, index: FleetIndex | undefined, now: number): Registry {
  if (!isJustRebuilt(registry.rebuiltAt, now)) return registry;
  const clusters = Object.entries(registry.clusters).map(([id, cluster]) => [
    id,
    { ...cluster, foundAt: firstOf(cluster, entryOf(index?.clusters, id)) },
  ]);
  return { ...registry, clusters: Object.fromEntries(clusters) };
}

function firstOf({ foundAt }: RegisteredCluster, indexed: IndexedCluster | undefined): string {
  if (indexed === undefined) return foundAt;
  const { sweptAt, readableAt = sweptAt, completeAt = sweptAt, audit, findings } = indexed;
  const times = [foundAt, sweptAt, readableAt, completeAt, ...findings.map(({ since }) => since)].map(Date.parse);
  const first = Math.min(...times, Date.parse(audit?.auditedAt ?? foundAt));
  return new Date(first).toISOString();
}
