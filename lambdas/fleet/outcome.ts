import type { Provider } from '../approval/policy.ts';
import type { AuditSummary } from '../audit/summary.ts';
import type { Problem } from '../problem.ts';
import type { FateRow } from '../slo/fates.ts';
import type { SweepReport, SweepRow } from '../sweep/report.ts';
import type { RolloutSummary } from './rollout-summary.ts';

/**
 * What became of one message, sent to the outcomes queue. Lost, late, repeated and reordered ones do no harm: each tells the whole state
 * of its cluster at one time.
 */
export type Outcome = SweepOutcome | DispatchOutcome;

export interface SweepOutcome {
  readonly version: 1;
  readonly kind: 'sweep';
  /** Of the cluster. */
  readonly id: string;
  /** Absent when the message could not be read. */
  readonly name?: string;
  readonly provider?: Provider;
  /** RFC 3339. Orders the outcomes of one cluster. */
  readonly startedAt: string;
  readonly durationMs: number;
  /** Nobody tried to reach the cluster: certmarshal itself failed, or AWS kept it from that, or the order could not be read. */
  readonly untried?: true;
  /** As in SweepReport. */
  readonly readable: boolean;
  readonly complete: boolean;
  readonly counts?: SweepReport['counts'];
  /** The first ones of `problemCount`. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  /** Host, port and path of the API server, once it let us in: to notice two clusters behind one address. */
  readonly server?: string;
  /** The Cluster API Clusters that were found in it, when they were looked for. */
  readonly workloadClusters?: readonly WorkloadCluster[];
  /** There are more of them: nothing may be concluded from one that is not among them. */
  readonly workloadClustersCut?: true;
  /** Of the audit, when one was made. */
  readonly audit?: AuditSummary;
  /** What became of the requests of the last hour, for the minutes whose fate can be told. Sparse. */
  readonly fates?: readonly FateRow[];
  /** Decisions of this sweep, hostile ones first; the log and the journal have all of them. */
  readonly verdicts?: readonly VerdictLine[];
  /** Of its rollout, when somebody looked. */
  readonly rollout?: RolloutSummary;
}

/** A decision, as the fleet index and the report page show it. */
export interface VerdictLine
  extends Pick<SweepRow, 'csr' | 'uid' | 'node' | 'verdict' | 'reason' | 'message' | 'outcome'> {
  /** When it was made last. RFC 3339. */
  readonly at: string;
  readonly hostile?: true;
}

/** A `Cluster` of Cluster API in a management cluster. */
export interface WorkloadCluster {
  readonly namespace: string;
  readonly name: string;
  /** Absent when the Cluster does not say. */
  readonly serviceCidrs?: readonly string[];
}

/** What dispatch did in one tick; it comes every minute, also when there is no cluster. */
export interface DispatchOutcome {
  readonly version: 1;
  readonly kind: 'dispatch';
  /** RFC 3339. */
  readonly startedAt: string;
  /** Clusters in the registry, and how many of them were put up for sweeping. */
  readonly registered: number;
  readonly dispatched: number;
  /** Of the discovery and of the registry. */
  readonly problems: readonly Problem[];
}
