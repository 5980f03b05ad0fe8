import * as z from 'zod/mini';
import { CLUSTER_STATES } from '../tables/cluster-states.ts';
import { MAX_STORY, SIGNAL_IDS } from '../tables/signals.ts';
import { isAhead } from '../time.ts';
import { AuditSummary } from './audit-summary.ts';
import { type Contract, list, lossy, lossyList, lossyRecord, printed, read, text } from './contract.ts';
import { MAX_WORKLOAD_CLUSTERS, SweepOutcome, VerdictLines, WorkloadCluster } from './outcome.ts';
import { Problem } from './problem.ts';
import { RolloutSummary } from './rollout-summary.ts';
import { Addresses, CertificateTime, ClusterId, Count, Flag, Instant, Namespace, Provider, Time } from './values.ts';

const MAX_CLUSTERS = 100_000;
export const MAX_FINDINGS = 100;

/** A problem, and the start of its unbroken series. */
const Finding = z.extend(Problem, { since: Time });
export type Finding = Contract<typeof Finding>;

/** The rollout of a cluster, and the unbroken start of its current state. */
const IndexedRollout = z.extend(RolloutSummary, { since: Time });
export type IndexedRollout = Contract<typeof IndexedRollout>;

/** The newest outcome of one cluster, and the last good ones. */
const IndexedCluster = z.extend(
  z.pick(SweepOutcome, {
    id: true,
    name: true,
    provider: true,
    durationMs: true,
    readable: true,
    complete: true,
    counts: true,
    server: true,
  }),
  {
    /** When the newest sweep began. */
    sweptAt: Time,
    /** The last sweep that knew `server`. */
    serverAt: z.optional(Time),
    /** The last sweep that tried to reach the cluster, successful or not. */
    triedAt: z.optional(Time),
    /** The last sweep in which it held the thread or used up its processor time. */
    heavyAt: z.optional(Time),
    /** The last sweep that could list the requests; absent if none did. */
    readableAt: z.optional(Time),
    /** The last sweep that read, judged and wrote everything. */
    completeAt: z.optional(Time),
    findings: list(Finding, MAX_FINDINGS),
    findingCount: Count,
    workloadClusters: z.optional(
      z.object({
        readAt: Time,
        clusters: list(WorkloadCluster, MAX_WORKLOAD_CLUSTERS),
        /** Truncated: a missing one proves nothing. */
        cut: Flag,
      }),
    ),
    /** Of the newest sweep that resolved the names of its API endpoint. */
    endpoint: lossy(z.object({ at: Time, addresses: Addresses })),
    /** Where the newest counts of its CSRs end, in milliseconds since the epoch. */
    countedTo: lossy(Instant),
    /**
     * The newest decisions of a week on its requests, hostile ones first. A request has at most two: the last hostile
     * one, and the last other one.
     */
    verdicts: lossy(VerdictLines),
    /** The newest audit; merged with earlier ones if it lacked their history. */
    audit: lossy(AuditSummary),
    rollout: lossy(IndexedRollout),
  },
);
export type IndexedCluster = Contract<typeof IndexedCluster>;

/** A cluster that is swept with a part of its shard only, because the sweep of the shard began and did not end. */
const Apart = lossyRecord(z.object({ lane: text(40), part: text(40), until: Instant }), MAX_CLUSTERS);
/** By id. */
export type Apart = Contract<typeof Apart>;

/** What a cluster needs a person for, as report saw it: what a message is made of. */
const StoredHealth = z.object({
  at: Time,
  /** Clusters in the fleet. */
  clusterCount: Count,
  counts: z.record(z.enum(CLUSTER_STATES), Count),
  /** Those with signals, the most urgent first. */
  clusters: lossyList(
    z.object({
      id: ClusterId,
      name: printed(120),
      namespace: z.optional(Namespace),
      provider: z.optional(Provider),
      isManaged: z.optional(z.boolean()),
      state: z.enum(CLUSTER_STATES),
      signals: lossyList(
        z.object({
          id: z.enum(SIGNAL_IDS),
          value: z.number(),
          classes: z.optional(z.record(z.string(), Count)),
          story: printed(MAX_STORY),
          since: lossy(CertificateTime),
          due: lossy(CertificateTime),
        }),
        SIGNAL_IDS.length,
      ),
    }),
    MAX_CLUSTERS,
  ),
});
export type StoredHealth = Contract<typeof StoredHealth>;

/** A series that is above 0, or was so lately. */
const PublishedSeries = z.object({
  signal: z.enum(SIGNAL_IDS),
  /** An id, or `*`. */
  cluster: text(310),
  what: z.optional(text(40)),
  /** At how many ticks since it was published as 0. */
  zeros: Count,
});
export type PublishedSeries = Contract<typeof PublishedSeries>;

/** The state of the whole fleet, folded from outcomes. Only report writes it; plan reads it. */
const FleetIndex = z.object({
  version: z.literal(2),
  writtenAt: Time,
  /** When it was made without an earlier one: what it lacks may still be so. */
  rebuiltAt: z.optional(Time),
  /** The newest tick with published metrics, in milliseconds since the epoch. */
  reported: lossy(Instant),
  /** What keeps clusters from being swept, the discovery from being whole, and the hub from working. */
  problems: list(Finding, MAX_FINDINGS),
  apart: Apart,
  /** At the newest tick with published metrics. */
  health: lossy(StoredHealth),
  series: list(PublishedSeries, MAX_CLUSTERS),
  /** By id. */
  clusters: lossyRecord(IndexedCluster, MAX_CLUSTERS),
});
export type FleetIndex = Contract<typeof FleetIndex>;

/**
 * Reads the stored index. Undefined if invalid as a whole: it is then folded from scratch, and complete after the next
 * sweep of each cluster. An invalid entry of a cluster is dropped alone; so is one more than ten minutes ahead, because
 * no outcome would be newer.
 *
 * @param now milliseconds since the epoch
 */
export function parseFleetIndex(value: unknown, now: number): FleetIndex | undefined {
  const index = read(FleetIndex, value);
  if (!index.ok) return undefined;
  const { rebuiltAt, reported, problems, health, clusters } = index.value;
  const past = Object.entries(clusters).filter(([id, cluster]) => cluster.id === id && isPast(cluster, now));
  return {
    ...index.value,
    rebuiltAt: isAhead(rebuiltAt, now) ? undefined : rebuiltAt,
    reported: isAhead(reported, now) ? undefined : reported,
    problems: problems.filter(({ since }) => !isAhead(since, now)),
    health: isAhead(health?.at, now) ? undefined : health,
    clusters: Object.fromEntries(past.map(([id, cluster]) => [id, withPastParts(cluster, now)])),
  };
}

function isPast(cluster: IndexedCluster, now: number): boolean {
  const { sweptAt, triedAt, serverAt, readableAt, completeAt, heavyAt, workloadClusters, findings } = cluster;
  return arePast(
    [sweptAt, triedAt, serverAt, readableAt, completeAt, heavyAt, workloadClusters?.readAt],
    findings,
    now,
  );
}

function arePast(times: readonly (string | undefined)[], findings: readonly Finding[], now: number): boolean {
  return !times.some((at) => isAhead(at, now)) && !findings.some(({ since }) => isAhead(since, now));
}

/** Without parts with a future time: no later ones would be newer. */
function withPastParts(cluster: IndexedCluster, now: number): IndexedCluster {
  const { audit, countedTo, verdicts, rollout, endpoint } = cluster;
  return {
    ...cluster,
    endpoint: isAhead(endpoint?.at, now) ? undefined : endpoint,
    audit: isAhead(audit?.auditedAt, now) ? undefined : audit,
    countedTo: isAhead(countedTo, now) ? undefined : countedTo,
    verdicts: verdicts?.filter(({ at }) => !isAhead(at, now)),
    rollout: rollout !== undefined && (isAhead(rollout.at, now) || rollout.since > rollout.at) ? undefined : rollout,
  };
}
