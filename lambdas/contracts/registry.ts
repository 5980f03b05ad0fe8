import * as z from 'zod/mini';
import { isAhead } from '../time.ts';
import { type Contract, list, lossy, matching, read, record } from './contract.ts';
import { Problem } from './problem.ts';
import { Target } from './target.ts';
import { ClusterId, DatedAddresses, Flag, Namespace, Time } from './values.ts';

/** Each far above any fleet. */
const MAX_SOURCES = 100_000;
const MAX_CLUSTERS = 100_000;
/**
 * Namespaces in which the workload clusters of one management cluster are listed: each is a LIST. EKS Anywhere has one.
 */
export const MAX_NAMESPACES = 50;

const SourceName = matching(/^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,199}$/, 'the name of a source');

/** A source of clusters: `fleet.yaml`, `eks 111122223333/eu-central-1`, `cluster-api berlin-mgmt`. */
const SourceRecord = z.object({
  triedAt: Time,
  /** The last time it was read completely. */
  readAt: z.optional(Time),
  /** Why the last read failed, or another problem of it. */
  problem: z.optional(Problem),
});
export type SourceRecord = Contract<typeof SourceRecord>;

const RegisteredCluster = z.object({
  id: ClusterId,
  source: SourceName,
  foundAt: Time,
  /** The last time its source listed it and it was read. */
  seenAt: Time,
  /** Since then its source was read completely without it. */
  missingSince: z.optional(Time),
  /** Absent if it cannot be swept; `problem` says why. */
  target: z.optional(Target),
  problem: z.optional(Problem),
  /** Missing because its tags no longer select it. */
  untagged: Flag,
  /** A management cluster whose workload clusters are listed in these namespaces. */
  managesClusters: z.optional(list(Namespace, MAX_NAMESPACES)),
  /** What the names of its API endpoint resolved to in the last 30 days. */
  endpointAddresses: lossy(DatedAddresses),
});
export type RegisteredCluster = Contract<typeof RegisteredCluster>;

/**
 * Every discovered cluster, with its source and times. Only report writes it. A failed discovery changes only
 * the record of its source: earlier clusters stay.
 */
const Registry = z.object({
  version: z.literal(1),
  writtenAt: Time,
  /** When it was made without an earlier one: what it lacks may still be undiscovered. */
  rebuiltAt: z.optional(Time),
  /** By {@link RegisteredCluster.source}. */
  sources: record(SourceName, SourceRecord, MAX_SOURCES),
  /** By id, in the order of the ids. */
  clusters: record(ClusterId, RegisteredCluster, MAX_CLUSTERS).check(
    // An entry with another id would be swept as that.
    z.refine(
      (clusters) =>
        Object.entries(clusters).every(([id, cluster]) => cluster.id === id && (cluster.target ?? cluster).id === id),
      'have the id of another one',
    ),
  ),
});
export type Registry = Contract<typeof Registry>;

/**
 * Reads the stored registry. Undefined if any part is invalid: all clusters are then discovered again, which is better
 * than sweeping by a damaged object. Times of a cluster more than ten minutes ahead are read as `now`: otherwise it
 * would count as found, seen or missing only from then on.
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
  const { rebuiltAt } = registry.value;
  return {
    ...registry.value,
    rebuiltAt: isAhead(rebuiltAt, now) ? undefined : rebuiltAt,
    clusters: Object.fromEntries(clusters),
  };
}
