import * as z from 'zod/mini';
import { isAhead } from '../time.ts';
import { type Contract, list, lossy, matching, read, record } from './contract.ts';
import { Problem } from './problem.ts';
import { Target } from './target.ts';
import { ClusterId, Flag, Instant, Namespace, Time } from './values.ts';

/** Far more than a fleet has, each. */
const MAX_SOURCES = 100_000;
const MAX_CLUSTERS = 100_000;
/** In which the workload clusters of one management cluster are looked for: each is a LIST. EKS Anywhere has one. */
export const MAX_NAMESPACES = 50;

const SourceName = matching(/^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,199}$/, 'the name of a source');

/** A place where clusters are looked for: `fleet.yaml`, `eks 111122223333/eu-central-1`, `cluster-api berlin-mgmt`. */
const SourceRecord = z.object({
  triedAt: Time,
  /** The last time it could be read to its end. */
  readAt: z.optional(Time),
  /** Why it could not be read the last time, or what else is wrong with it. */
  problem: z.optional(Problem),
});
export type SourceRecord = Contract<typeof SourceRecord>;

/** Lane, kind and number, or the hash of the only cluster: a message group of the orders. */
export const ShardName = matching(
  /^[a-z0-9-]{1,40}\.(?:ordinary|slow|part|alone)\.[a-z0-9.-]{1,40}$/,
  'the name of a shard',
);

/** Clusters that one invocation sweeps. */
const Shard = z.object({
  name: ShardName,
  /** The tick of the first order that no outcome has followed yet. */
  waitingSince: Instant,
  /** It is swept alone until then. */
  aloneUntil: z.optional(Instant),
});
export type Shard = Contract<typeof Shard>;

const RegisteredCluster = z.object({
  id: ClusterId,
  source: SourceName,
  foundAt: Time,
  /** The last time its source showed it, and it was looked at. */
  seenAt: Time,
  /** Its source was read to its end without it, since then. */
  missingSince: z.optional(Time),
  /** Absent when it cannot be swept; `problem` then says why. */
  target: z.optional(Target),
  problem: z.optional(Problem),
  /** It is missing because its tags no longer select it. */
  untagged: Flag,
  /** A management cluster: its workload clusters are looked for through it, in these namespaces. */
  managesClusters: z.optional(list(Namespace, MAX_NAMESPACES)),
  /** A damaged one costs nothing but a place among other clusters. */
  shard: lossy(Shard),
});
export type RegisteredCluster = Contract<typeof RegisteredCluster>;

/**
 * Every cluster that was found, when and how. dispatch alone writes it, to S3. A discovery that fails changes nothing but the record of
 * its source: what was found before stays.
 */
const Registry = z.object({
  version: z.literal(1),
  writtenAt: Time,
  /** By {@link RegisteredCluster.source}. */
  sources: record(SourceName, SourceRecord, MAX_SOURCES),
  /** By id, in the order of the ids. */
  clusters: record(ClusterId, RegisteredCluster, MAX_CLUSTERS).check(
    // An entry that says it is another one would be swept as that.
    z.refine(
      (clusters) =>
        Object.entries(clusters).every(([id, cluster]) => cluster.id === id && (cluster.target ?? cluster).id === id),
      'have the id of another one',
    ),
  ),
});
export type Registry = Contract<typeof Registry>;

/**
 * Reads what S3 gives back. Undefined when any of it does not fit: then everything is found again, which is better than sweeping what a damaged object says.
 * Times of a cluster that are more than ten minutes ahead are taken as `now`: else it would be found, seen or missing only from then on.
 *
 * @param now milliseconds since the epoch
 */
export function parseRegistry(value: unknown, now: number): Registry | undefined {
  const registry = read(Registry, value);
  if (!registry.ok) return undefined;
  const past = (time: string) => (isAhead(time, now) ? new Date(now).toISOString() : time);
  const clusters = Object.entries(registry.value.clusters).map(([id, cluster]) => {
    const { foundAt, seenAt, missingSince } = cluster;
    return [
      id,
      { ...cluster, foundAt: past(foundAt), seenAt: past(seenAt), missingSince: missingSince && past(missingSince) },
    ];
  });
  return { ...registry.value, clusters: Object.fromEntries(clusters) };
}
