import { readProblem } from './read-problem.ts';
import { readNamespace, readTarget } from './read-target.ts';
import type { RegisteredCluster, Registry, SourceRecord } from './registry.ts';
import {
  type Fields,
  fields,
  isAhead,
  list,
  mark,
  matching,
  optional,
  present,
  type Read,
  reading,
  ShapeError,
  table,
  text,
  time,
  versionOf,
} from './shape.ts';
import { CLUSTER_ID, MAX_NAMESPACES } from './target.ts';

/** Far more than a fleet has. */
const MAX_SOURCES = 100_000;
const MAX_CLUSTERS = 100_000;
const SOURCE = /^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,199}$/;

/**
 * Reads what S3 gives back. Undefined when any of it is not what {@link updateRegistry} writes: then everything is found again, which
 * is better than sweeping what a damaged object says. Times of a cluster that are more than ten minutes ahead are taken as `now`: else it
 * would be found, seen or missing since then only when that comes.
 *
 * @param now milliseconds since the epoch
 */
export function parseRegistry(value: unknown, now: number): Registry | undefined {
  const read = reading(() => readRegistry(value, now));
  return read.ok ? read.value : undefined;
}

function readRegistry(value: unknown, now: number): Registry {
  const registry = fields(value, 'the registry');
  versionOf(registry, 1);
  return {
    version: 1,
    writtenAt: time(registry['writtenAt'], 'writtenAt'),
    sources: table(SOURCE, readSource, MAX_SOURCES)(registry['sources'], 'sources'),
    clusters: withOwnIds(table(CLUSTER_ID, clusterReader(now), MAX_CLUSTERS)(registry['clusters'], 'clusters')),
  };
}

const readSource: Read<SourceRecord> = (value, path) => {
  const record = fields(value, path);
  return present({
    triedAt: time(record['triedAt'], `${path}.triedAt`),
    readAt: optional(time)(record['readAt'], `${path}.readAt`),
    problem: optional(readProblem)(record['problem'], `${path}.problem`),
  });
};

function clusterReader(now: number): Read<RegisteredCluster> {
  const pastTime: Read<string> = (value, path) => {
    const read = time(value, path);
    return isAhead(read, now) ? new Date(now).toISOString() : read;
  };
  return (value, path) => readCluster(fields(value, path), path, pastTime);
}

function readCluster(cluster: Fields, path: string, pastTime: Read<string>): RegisteredCluster {
  return present({
    id: text(310)(cluster['id'], `${path}.id`),
    source: matching(SOURCE, 'the name of a source')(cluster['source'], `${path}.source`),
    foundAt: pastTime(cluster['foundAt'], `${path}.foundAt`),
    seenAt: pastTime(cluster['seenAt'], `${path}.seenAt`),
    missingSince: optional(pastTime)(cluster['missingSince'], `${path}.missingSince`),
    untagged: optional(mark)(cluster['untagged'], `${path}.untagged`),
    target: optional(readTarget)(cluster['target'], `${path}.target`),
    problem: optional(readProblem)(cluster['problem'], `${path}.problem`),
    managesClusters: optional(list(readNamespace, MAX_NAMESPACES))(
      cluster['managesClusters'],
      `${path}.managesClusters`,
    ),
  });
}

/** An entry that says it is another one would be swept as that. */
function withOwnIds(clusters: Registry['clusters']): Registry['clusters'] {
  for (const [id, cluster] of Object.entries(clusters))
    if (cluster.id !== id || (cluster.target ?? cluster).id !== id)
      throw new ShapeError('a cluster has the id of another one');
  return clusters;
}
