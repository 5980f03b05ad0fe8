import * as z from 'zod/mini';
import { keysOf } from '../tables/keys.ts';
import { REASONS } from '../tables/reasons.ts';
import { AuditSummary } from './audit-summary.ts';
import { type Contract, list, lossy, lossyList, printed } from './contract.ts';
import { FateRows } from './fates.ts';
import { Problem } from './problem.ts';
import { RolloutSummary } from './rollout-summary.ts';
import { Cidrs, ClusterId, ClusterName, Count, Flag, Namespace, Provider, Server, Time } from './values.ts';

/** An outcome travels through SQS and stays in the index; a cluster with more problems than these is fixed by fixing these first. */
export const MAX_SWEEP_PROBLEMS = 20;
export const MAX_DISPATCH_PROBLEMS = 100;
/** More than one management cluster has. */
export const MAX_WORKLOAD_CLUSTERS = 1_000;
/** Of one sweep, and of one cluster in the index. */
export const MAX_VERDICTS = 12;
/** Characters. Names are whole: people search for them. */
export const VERDICT_LIMITS = { csr: 253, uid: 100, node: 253, message: 200 } as const;

/** A decision, as the fleet index and the report page show it. */
export const VerdictLine = z.object({
  csr: printed(VERDICT_LIMITS.csr),
  uid: printed(VERDICT_LIMITS.uid),
  node: printed(VERDICT_LIMITS.node),
  verdict: z.enum(['approve', 'deny', 'leave', 'ignore']),
  reason: z.enum(keysOf(REASONS)),
  message: printed(VERDICT_LIMITS.message),
  outcome: z.enum(['none', 'written', 'observed', 'overtaken', 'unfinished', 'failed', 'unknown']),
  /** When it was made last. */
  at: Time,
  hostile: Flag,
});
export type VerdictLine = Contract<typeof VerdictLine>;

/** Each line stands for itself: one that a newer version wrote is dropped alone. */
export const VerdictLines = lossyList(VerdictLine, MAX_VERDICTS);

/** A `Cluster` of Cluster API in a management cluster. */
export const WorkloadCluster = z.object({
  namespace: Namespace,
  name: ClusterName,
  /** Absent when the Cluster does not say. */
  serviceCidrs: z.optional(Cidrs),
});
export type WorkloadCluster = Contract<typeof WorkloadCluster>;

export const SweepCounts = z.object({
  approved: Count,
  denied: Count,
  /** Decisions that mode observe kept from being written. */
  wouldWrite: Count,
  left: Count,
  ignored: Count,
  /** Decided, and not written for all that is known. */
  failed: Count,
});

export const SweepOutcome = z.object({
  version: z.literal(1),
  kind: z.literal('sweep'),
  /** Of the cluster. */
  id: ClusterId,
  /** Absent when the message could not be read. */
  name: z.optional(ClusterName),
  provider: z.optional(Provider),
  /** Orders the outcomes of one cluster. */
  startedAt: Time,
  durationMs: Count,
  /** No one tried to reach the cluster: certmarshal itself failed, or AWS kept it from that, or the order could not be read. */
  untried: Flag,
  /** It held the thread, or spent all the processor time of a sweep: it is swept alone from now on. */
  heavy: Flag,
  /** As in SweepReport. */
  readable: z.boolean(),
  complete: z.boolean(),
  counts: z.optional(SweepCounts),
  /** The first ones of `problemCount`. */
  problems: list(Problem, MAX_SWEEP_PROBLEMS),
  problemCount: Count,
  /** Host, port and path of the API server, once it let us in: to notice two clusters behind one address. */
  server: z.optional(Server),
  /** The Cluster API Clusters that were found in it, when they were looked for. */
  workloadClusters: z.optional(list(WorkloadCluster, MAX_WORKLOAD_CLUSTERS)),
  /** There are more of them: nothing may be concluded from one that is not among them. */
  workloadClustersCut: Flag,
  /** Of the audit, when one was made. */
  audit: lossy(AuditSummary),
  /** What became of the requests of the last hour, for the minutes whose fate can be told. Sparse. */
  fates: lossy(FateRows),
  /** Decisions of this sweep, hostile ones first; the log and the journal have all of them. */
  verdicts: lossy(VerdictLines),
  /** Of its rollout, when this sweep looked. */
  rollout: lossy(RolloutSummary),
});
export type SweepOutcome = Contract<typeof SweepOutcome>;

/** What dispatch did in one tick; it comes every minute, also when there is no cluster. */
const DispatchOutcome = z.object({
  version: z.literal(1),
  kind: z.literal('dispatch'),
  startedAt: Time,
  /** Clusters in the registry, and how many of them were put up for sweeping. */
  registered: Count,
  dispatched: Count,
  /** Of the discovery and of the registry. */
  problems: list(Problem, MAX_DISPATCH_PROBLEMS),
});
export type DispatchOutcome = Contract<typeof DispatchOutcome>;

/** What became of one order, or of one tick. Lost, late, repeated and reordered ones do no harm: each tells the whole state of its cluster at one time. */
export const Outcome = z.discriminatedUnion('kind', [SweepOutcome, DispatchOutcome]);
export type Outcome = Contract<typeof Outcome>;

/** More than a batch of sweeps has, and a message has room for. */
export const MAX_OUTCOMES = 1_000;

/** A message of the outcomes queue: a list, in which each {@link Outcome} is read alone, or a single one, as the version before sends it. */
export const OutcomeMessage = z.discriminatedUnion('kind', [
  SweepOutcome,
  DispatchOutcome,
  z.object({
    version: z.literal(1),
    kind: z.literal('outcomes'),
    outcomes: list(z.unknown(), MAX_OUTCOMES),
  }),
]);
