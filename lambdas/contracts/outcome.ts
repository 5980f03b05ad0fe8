import * as z from 'zod/mini';
import { keysOf } from '../tables/keys.ts';
import { REASONS } from '../tables/reasons.ts';
import { HOUR_MS } from '../time.ts';
import { AuditSummary } from './audit-summary.ts';
import { type Contract, list, lossy, lossyList, printed } from './contract.ts';
import { SHARD_SIZE } from './order.ts';
import { Problem } from './problem.ts';
import { RolloutSummary } from './rollout-summary.ts';
import {
  Addresses,
  Cidrs,
  ClusterId,
  ClusterName,
  Count,
  Flag,
  Instant,
  Namespace,
  Provider,
  Server,
  Time,
} from './values.ts';
import { VerdictFacts } from './verdict-facts.ts';

/** Most problems of an outcome, which stays in the index; fixing these first fixes a cluster with more. */
export const MAX_SWEEP_PROBLEMS = 20;
/** More than any management cluster has. */
export const MAX_WORKLOAD_CLUSTERS = 1_000;
/** For one sweep, and for one cluster in the index. */
export const MAX_VERDICTS = 12;

/** A decision, as the fleet index and the report page show it. */
export const VerdictLine = z.object({
  csr: printed(253),
  uid: printed(100),
  node: printed(253),
  verdict: z.enum(['approve', 'deny', 'leave', 'ignore']),
  reason: z.enum(keysOf(REASONS)),
  facts: VerdictFacts,
  outcome: z.enum(['none', 'written', 'observed', 'overtaken', 'unfinished', 'failed', 'unknown']),
  /** When it was last made. */
  at: Time,
  hostile: Flag,
});
export type VerdictLine = Contract<typeof VerdictLine>;

/** Lines are read separately: an invalid one is dropped alone. */
export const VerdictLines = lossyList(VerdictLine, MAX_VERDICTS);

/** A `Cluster` of Cluster API in a management cluster. */
export const WorkloadCluster = z.object({
  namespace: Namespace,
  name: ClusterName,
  /** Absent if the Cluster has none. */
  serviceCidrs: z.optional(Cidrs),
});
export type WorkloadCluster = Contract<typeof WorkloadCluster>;

const SweepCounts = z.object({
  approved: Count,
  denied: Count,
  /** Decisions that mode observe did not write. */
  wouldWrite: Count,
  left: Count,
  ignored: Count,
  /** Decided, but not known to be written. */
  failed: Count,
});

/**
 * How far back a sweep counts. Kubernetes deletes an issued CSR an hour after its approval, so of the oldest ones some
 * in time may be gone; late ones stay for a day. Source: kube-controller-manager, certificates cleaner. Milliseconds.
 */
export const COUNTED_BACK_MS = HOUR_MS;

/** More CSRs than any API server accepts in an hour. */
const CsrCount = Count.check(z.lte(10_000_000, 'is more than an API server accepts'));

/**
 * What became of the CSRs of nodes whose fifteenth minute lies between two times; that is how long a kubelet waits.
 * Milliseconds since the epoch.
 */
const CsrCounts = z.object({
  /** `countedTo` of the order, inclusive; absent in a first sweep, which counts nothing. */
  from: z.optional(Instant),
  /** Exclusive. */
  to: Instant,
  /** Issued, and approved in time, by whomever. */
  issued: CsrCount,
  /** Provable, or its evidence could not be read; and not issued in time. */
  late: CsrCount,
  notProvable: CsrCount,
});
export type CsrCounts = Contract<typeof CsrCounts>;

/**
 * The result of one order. Loss, delay, repetition and reordering do no harm: each has the whole state of its cluster at
 * one time.
 */
export const SweepOutcome = z.object({
  id: ClusterId,
  /** By a webhook, between two ticks: only its decisions count. */
  byWebhook: Flag,
  /** Absent if the order could not be read. */
  name: z.optional(ClusterName),
  provider: z.optional(Provider),
  /** Orders the outcomes of one cluster. */
  startedAt: Time,
  durationMs: Count,
  /** The cluster was not tried: certmarshal failed, AWS prevented it, or the order was unreadable. */
  untried: Flag,
  /** It held the thread, or used up the processor time of a sweep: for a day it shares shards with slow ones. */
  heavy: Flag,
  /** As in SweepReport. */
  readable: z.boolean(),
  complete: z.boolean(),
  counts: z.optional(SweepCounts),
  /** The first ones of `problemCount`. */
  problems: list(Problem, MAX_SWEEP_PROBLEMS),
  problemCount: Count,
  /** Host, port and path of the API server, once authenticated: reveals two clusters behind one address. */
  server: z.optional(Server),
  /** The Cluster API Clusters found in it, if it was searched. */
  workloadClusters: z.optional(list(WorkloadCluster, MAX_WORKLOAD_CLUSTERS)),
  /** Truncated: a missing one proves nothing. */
  workloadClustersCut: Flag,
  /** What the names of its API endpoint resolve to, if a request was judged. */
  endpointAddresses: lossy(Addresses),
  /** Summary of the audit, or of an earlier one that the index lost. */
  audit: lossy(AuditSummary),
  /** Absent if the CSRs could not be listed or judged, and of a sweep by webhook. */
  counted: lossy(CsrCounts),
  /** Decisions of this sweep, hostile ones first; the log and the journal have all of them. */
  verdicts: lossy(VerdictLines),
  /** State of its rollout, if this sweep took a step. */
  rollout: lossy(RolloutSummary),
});
export type SweepOutcome = Contract<typeof SweepOutcome>;

/** The outcomes of one shard, or of one sweep by webhook: each {@link SweepOutcome} is read separately. */
export const Outcomes = z.object({ version: z.literal(2), outcomes: list(z.unknown(), SHARD_SIZE) });
