import type { AuditSummary } from '../audit/summary.ts';
import type { Problem } from '../problem.ts';
import type { SloLedger } from '../slo/ledger.ts';
import type { SweepOutcome, VerdictLine, WorkloadCluster } from './outcome.ts';
import type { RolloutSummary } from './rollout-summary.ts';

/** What is known of the whole fleet, folded from outcomes. report alone writes it, to S3; dispatch reads it. */
export interface FleetIndex {
  readonly version: 1;
  /** RFC 3339, as all times here. */
  readonly writtenAt: string;
  readonly dispatch?: {
    readonly at: string;
    readonly registered: number;
    readonly dispatched: number;
    readonly problems: readonly Finding[];
  };
  /** By id. */
  readonly clusters: Readonly<Record<string, IndexedCluster>>;
}

/** A problem, and since when it is there without a break. */
export interface Finding extends Problem {
  readonly since: string;
}

/** What is known of the rollout of a cluster, and since when its state is that without a break. */
export interface IndexedRollout extends RolloutSummary {
  readonly since: string;
}

/** The newest outcome of one cluster, and the last good ones. */
export interface IndexedCluster
  extends Pick<
    SweepOutcome,
    'id' | 'name' | 'provider' | 'durationMs' | 'readable' | 'complete' | 'counts' | 'server'
  > {
  /** When the newest sweep began. */
  readonly sweptAt: string;
  /** The last sweep that knew `server`. */
  readonly serverAt?: string;
  /** The last sweep that tried to reach the cluster, whatever came of it. */
  readonly triedAt?: string;
  /** The last sweep that could list the requests; absent when there was none. */
  readonly readableAt?: string;
  /** The last sweep that read, judged and wrote everything. */
  readonly completeAt?: string;
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  readonly workloadClusters?: {
    readonly readAt: string;
    readonly clusters: readonly WorkloadCluster[];
    /** There are more of them: nothing may be concluded from one that is not among them. */
    readonly cut?: true;
  };
  /** What became of its requests, for the objective. */
  readonly slo?: SloLedger;
  /** The newest decisions of a week on its requests, hostile ones first. A request has at most two: the last hostile one, and the last other one. */
  readonly verdicts?: readonly VerdictLine[];
  /** The newest audit; where that did not know what was before, together with what was known here. */
  readonly audit?: AuditSummary;
  /** The newest look at its rollout. */
  readonly rollout?: IndexedRollout;
  /** Details were left out, so that the index stays one that can be written: the cluster says more than its share. The snapshot and the journal have them. */
  readonly cut?: true;
}
