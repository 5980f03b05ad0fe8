import { PROVIDERS } from '../approval/policy.ts';
import type { Finding, FleetIndex, IndexedCluster, IndexedRollout } from './fleet-index.ts';
import type { VerdictLine } from './outcome.ts';
import { auditUntil } from './read-audit.ts';
import { ledgerUntil } from './read-fates.ts';
import { readProblem } from './read-problem.ts';
import { readRollout } from './read-rollout.ts';
import { MAX_WORKLOAD_CLUSTERS, readCounts, readServer, readWorkloadCluster } from './read-sweep.ts';
import { readVerdicts } from './read-verdicts.ts';
import {
  count,
  fields,
  flag,
  isAhead,
  list,
  mark,
  matching,
  oneOf,
  optional,
  present,
  type Read,
  readable,
  reading,
  ShapeError,
  table,
  time,
  versionOf,
} from './shape.ts';
import { CLUSTER_ID, CLUSTER_NAME } from './target.ts';

const MAX_CLUSTERS = 100_000;
const MAX_FINDINGS = 100;
/** Its cluster says which it has to be. */
const ANY = /^/;

/** How many clusters of what S3 gave back were left out of the index. */
export function clustersLeftOut(value: unknown, { clusters }: FleetIndex): number {
  const stored = fields(fields(value, 'the index')['clusters'], 'clusters');
  return Object.keys(stored).length - Object.keys(clusters).length;
}

/**
 * Reads what S3 gives back. Undefined when the whole of it is not what {@link foldOutcomes} writes: then the index is folded anew, and is whole
 * again after the next sweep of each cluster. A cluster whose entry is not is left out, and no other is lost with it; so is one that is more than ten minutes ahead: no
 * outcome would be newer.
 *
 * @param now milliseconds since the epoch
 */
export function parseFleetIndex(value: unknown, now: number): FleetIndex | undefined {
  const read = reading(() => readIndex(value, now));
  return read.ok ? read.value : undefined;
}

function readIndex(value: unknown, now: number): FleetIndex {
  const index = fields(value, 'the index');
  versionOf(index, 1);
  const dispatch = optional(readDispatch)(index['dispatch'], 'dispatch');
  const clusters = table(ANY, readable(clusterUntil(now)), MAX_CLUSTERS)(index['clusters'], 'clusters');
  return present({
    version: 1 as const,
    writtenAt: time(index['writtenAt'], 'writtenAt'),
    dispatch: dispatch !== undefined && areSound([dispatch.at], dispatch.problems, now) ? dispatch : undefined,
    clusters: Object.fromEntries(
      Object.entries(clusters).flatMap(([id, cluster]) =>
        cluster !== undefined && cluster.id === id && isSound(cluster, now) ? [[id, cluster]] : [],
      ),
    ),
  });
}

function isSound(cluster: IndexedCluster, now: number): boolean {
  const { sweptAt, triedAt, serverAt, readableAt, completeAt, workloadClusters, findings } = cluster;
  const times = [sweptAt, triedAt, serverAt, readableAt, completeAt, workloadClusters?.readAt];
  return areSound(times, findings, now);
}

function areSound(times: readonly (string | undefined)[], findings: readonly Finding[], now: number): boolean {
  return [...times, ...findings.map(({ since }) => since)].every((at) => at === undefined || !isAhead(at, now));
}

const readDispatch: Read<NonNullable<FleetIndex['dispatch']>> = (value, path) => {
  const dispatch = fields(value, path);
  return {
    at: time(dispatch['at'], `${path}.at`),
    registered: count(dispatch['registered'], `${path}.registered`),
    dispatched: count(dispatch['dispatched'], `${path}.dispatched`),
    problems: list(readFinding, MAX_FINDINGS)(dispatch['problems'], `${path}.problems`),
  };
};

const clusterUntil =
  (now: number): Read<IndexedCluster> =>
  (value, path) => {
    const cluster = fields(value, path);
    return present({
      id: matching(CLUSTER_ID, 'the id of a cluster')(cluster['id'], `${path}.id`),
      name: optional(matching(CLUSTER_NAME, 'a cluster name'))(cluster['name'], `${path}.name`),
      provider: optional(oneOf(PROVIDERS))(cluster['provider'], `${path}.provider`),
      counts: optional(readCounts)(cluster['counts'], `${path}.counts`),
      sweptAt: time(cluster['sweptAt'], `${path}.sweptAt`),
      durationMs: count(cluster['durationMs'], `${path}.durationMs`),
      readable: flag(cluster['readable'], `${path}.readable`),
      complete: flag(cluster['complete'], `${path}.complete`),
      findings: list(readFinding, MAX_FINDINGS)(cluster['findings'], `${path}.findings`),
      findingCount: count(cluster['findingCount'], `${path}.findingCount`),
      triedAt: optional(time)(cluster['triedAt'], `${path}.triedAt`),
      readableAt: optional(time)(cluster['readableAt'], `${path}.readableAt`),
      completeAt: optional(time)(cluster['completeAt'], `${path}.completeAt`),
      serverAt: optional(time)(cluster['serverAt'], `${path}.serverAt`),
      server: optional(readServer)(cluster['server'], `${path}.server`),
      workloadClusters: optional(readWorkloadClusters)(cluster['workloadClusters'], `${path}.workloadClusters`),
      audit: readable(auditUntil(now))(cluster['audit'], `${path}.audit`),
      slo: readable(ledgerUntil(now))(cluster['slo'], `${path}.slo`),
      verdicts: readable(verdictsUntil(now))(cluster['verdicts'], `${path}.verdicts`),
      rollout: readable(rolloutUntil(now))(cluster['rollout'], `${path}.rollout`),
      cut: optional(mark)(cluster['cut'], `${path}.cut`),
    });
  };

/** With one that is ahead no later one would be newer. */
function rolloutUntil(now: number): Read<IndexedRollout> {
  return (value, path) => {
    const since = time(fields(value, path)['since'], `${path}.since`);
    const rollout = { ...readRollout(value, path), since };
    if (isAhead(rollout.at, now) || since > rollout.at) throw new ShapeError(`${path} is ahead`);
    return rollout;
  };
}

function verdictsUntil(now: number): Read<readonly VerdictLine[]> {
  return (value, path) => readVerdicts(value, path).filter(({ at }) => !isAhead(at, now));
}

const readFinding: Read<Finding> = (value, path) => ({
  ...readProblem(value, path),
  since: time(fields(value, path)['since'], `${path}.since`),
});

const readWorkloadClusters: Read<NonNullable<IndexedCluster['workloadClusters']>> = (value, path) => {
  const found = fields(value, path);
  return present({
    readAt: time(found['readAt'], `${path}.readAt`),
    clusters: list(readWorkloadCluster, MAX_WORKLOAD_CLUSTERS)(found['clusters'], `${path}.clusters`),
    cut: optional(mark)(found['cut'], `${path}.cut`),
  });
};
