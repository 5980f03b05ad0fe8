import type { Problem } from '../problem.ts';
import type { FoundCluster, SourceResult } from './discover.ts';
import { boundedProblem } from './read-problem.ts';
import type { RegisteredCluster, Registry, SourceRecord } from './registry.ts';
import { entryOf, present } from './shape.ts';
import { LISTED } from './sources.ts';

export { parseRegistry } from './parse-registry.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** How often a source is read, and how soon again after it failed. */
const CADENCE_MS = 10 * MINUTE_MS;
const RETRY_MS = 2 * MINUTE_MS;
/** Ticks come a little early and late. */
const JITTER_MS = MINUTE_MS / 2;
/** How long a cluster that disappeared is still swept, and how long it is reported. */
const SWEPT_WHILE_MISSING_MS = 60 * MINUTE_MS;
const REPORTED_WHILE_MISSING_MS = 14 * DAY_MS;

/**
 * The registry after some sources were read. Pure.
 *
 * - A source that failed keeps all its clusters, but for those that it could still tell about.
 * - A cluster that its source was read to the end without is missing: it is swept for an hour more, reported for 14 days, then dropped.
 * - What somebody took out of `fleet.yaml` is dropped at once: a source, a listed cluster, a cluster that is no longer wanted.
 *
 * @param now milliseconds since the epoch
 * @param asked every source that the fleet asks for, by name. @default those that are known
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
    sources.set(result.source, recordOf(result, sources.get(result.source), writtenAt));
    for (const found of result.clusters ?? [])
      if (found.unwanted) clusters.delete(found.id);
      else clusters.set(found.id, registered(found, result.source, clusters.get(found.id), writtenAt));
    if (!result.ok) continue;
    const shown = new Set(result.clusters.map(({ id }) => id));
    for (const cluster of clusters.values())
      if (cluster.source === result.source && !shown.has(cluster.id)) {
        if (result.source === LISTED) clusters.delete(cluster.id);
        else clusters.set(cluster.id, { ...cluster, missingSince: cluster.missingSince ?? writtenAt });
      }
  }
  const remaining = [...clusters].flatMap(([id, cluster]) => {
    const aged = withAge(cluster, now);
    return aged === undefined ? [] : [[id, aged] as const];
  });
  return { version: 1, writtenAt, sources: Object.fromEntries(sources), clusters: inOrder(remaining) };
}

/**
 * The sources to read now: new ones, those read ten minutes ago, and those that failed two minutes ago.
 *
 * @param asked every source that the fleet asks for, by name
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
  // A clock that was wrong must not stop the discovery.
  return elapsed < -JITTER_MS || elapsed + JITTER_MS >= (readAt === triedAt ? CADENCE_MS : RETRY_MS);
}

function recordOf(result: SourceResult, previous: SourceRecord | undefined, triedAt: string): SourceRecord {
  const { ok, problem } = result;
  return {
    triedAt,
    ...present({
      readAt: ok ? triedAt : previous?.readAt,
      problem: problem === undefined ? undefined : boundedProblem(problem),
    }),
  };
}

function registered(
  found: FoundCluster,
  source: string,
  previous: RegisteredCluster | undefined,
  now: string,
): RegisteredCluster {
  const { id, unread, managesClusters } = found;
  // What a cluster that is missing was reported for is over.
  const before = previous?.missingSince === undefined ? previous?.problem : undefined;
  const problem = unread ? (found.problem ?? before) : found.problem;
  return {
    id,
    source,
    foundAt: previous?.foundAt ?? now,
    seenAt: unread ? (previous?.seenAt ?? now) : now,
    ...present({
      target: unread ? previous?.target : found.target,
      problem: problem === undefined ? undefined : boundedProblem(problem),
      managesClusters,
    }),
  };
}

/** What a cluster that is missing still is. Undefined when it is forgotten. */
function withAge(cluster: RegisteredCluster, now: number): RegisteredCluster | undefined {
  const { missingSince, target, ...rest } = cluster;
  if (missingSince === undefined) return cluster;
  const age = now - Date.parse(missingSince);
  if (age >= REPORTED_WHILE_MISSING_MS) return undefined;
  const problem = boundedProblem(missing(cluster, missingSince));
  const swept = target !== undefined && age < SWEPT_WHILE_MISSING_MS;
  return { ...rest, missingSince, problem, ...(swept ? { target } : {}) };
}

function missing({ id, source }: RegisteredCluster, since: string): Problem {
  const end = new Date(Date.parse(since) + REPORTED_WHILE_MISSING_MS).toISOString().slice(0, 10);
  return {
    kind: 'missing',
    object: `cluster ${id}`,
    message: `${source} does not show it any more, since ${since}`,
    remedy: `If it was deleted, nothing is to be done: this is forgotten on ${end}, or at once when fleet.yaml excludes it. If not, find out why ${source} does not show it.`,
  };
}

function inOrder<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
}
