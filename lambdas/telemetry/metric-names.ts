/** The CloudWatch namespace of every metric. */
export const METRICS_NAMESPACE = 'certmarshal';

/**
 * The functions that publish metrics. Powertools adds the function as dimension `service` to every metric; an alarm
 * without this dimension watches an empty series.
 */
export type Service = 'plan' | 'sweep' | 'report' | 'notify';

/**
 * Every metric with its meaning, except those of `SIGNALS`, which report publishes under their own names. These are
 * totals of the fleet without a cluster dimension: each series costs money every month, and the log line of the sweep
 * names the cluster. `docs/metrics.md` has all of them; a test compares.
 */
export const METRIC = {
  /** plan: clusters to be swept, once a minute. */
  dispatched: 'Dispatched',
  /** plan: clusters in the registry, once a minute. */
  registered: 'Registered',
  /**
   * report: problems of the discovery, the registry or a lane; the log has them. A cluster that is being created or
   * deleted, or is gone, is not a problem.
   */
  discoveryProblems: 'DiscoveryProblems',
  /** Requests approved. Those that mode observe did not write are in `CsrObserved`. */
  approved: 'CsrApproved',
  /** Requests denied, only by a policy with `onHostile: deny`. */
  denied: 'CsrDenied',
  /** Decisions that mode observe did not write. */
  observed: 'CsrObserved',
  /** Requests not approved: proof is missing or contradicts them. Each sweep counts the same request again. */
  left: 'CsrLeft',
  /** Requests of others, or already decided. Each sweep counts the same request again. */
  ignored: 'CsrIgnored',
  /** Decisions that could not be written, or not in time. */
  writeFailed: 'CsrWriteFailed',
  /** Sweeps that read, judged and wrote everything. */
  completed: 'SweepsCompleted',
  /** Incomplete sweeps, unreachable clusters included; the log has the reasons. */
  incomplete: 'SweepsIncomplete',
  /** Milliseconds from opening the connection to the last write, one value for each sweep. */
  duration: 'SweepDuration',
  /** sweep: orders that were not carried out; the log has the reasons. */
  ordersRefused: 'OrdersRefused',
  /** sweep: audits made, one value for each. */
  audits: 'Audits',
  /** sweep: findings of these audits, one value for each; the index has the findings. */
  auditCritical: 'AuditFindingsCritical',
  auditWarning: 'AuditFindingsWarning',
  /**
   * sweep: from audits with kubelet metrics: failed renewals of serving certificates, and kubelets that renew far
   * outside 70 % to 90 % of the lifetime.
   */
  kubeletRenewErrors: 'KubeletRenewErrors',
  kubeletRotationsUnusual: 'KubeletRotationsUnusual',
  /**
   * sweep: audits whose snapshot could not be read, and so is not overwritten, or could not be written. The next audit
   * knows less history.
   */
  snapshotsUnwritten: 'SnapshotsUnwritten',
  /**
   * sweep: decisions written to the journal, and 1 for each sweep whose decisions could not be written: then only the
   * log has them.
   */
  journalLines: 'JournalLines',
  journalUnwritten: 'JournalUnwritten',
  /** report: outcomes folded into the index, one value for each tick; 0 before there is a cluster. */
  outcomesFolded: 'OutcomesFolded',
  /** report: unreadable outcomes; they are dropped, and the first are logged. */
  outcomesUnreadable: 'OutcomesUnreadable',
  /** report: registered clusters whose requests the last sweep could not list. */
  clustersUnreadable: 'ClustersUnreadable',
  /** report: seconds since the last sweep of the cluster where that is longest ago; 0 without clusters. */
  oldestSweep: 'OldestSweep',
  /** report: clusters for which an alarm fires, with the thresholds of `fleet.yaml`. */
  clustersUnwell: 'ClustersUnwell',
  /** report: clusters that are in a maintenance window. */
  clustersInMaintenance: 'ClustersInMaintenance',
  /**
   * report: the CSRs of nodes, each counted once when it is 15 minutes old: issued by then, provable and not issued,
   * not provable. A policy in mode enforce must select their cluster, and no maintenance window. Their sums over any
   * time are the objective.
   */
  csrsIssued: 'CsrsIssued',
  csrsLate: 'CsrsLate',
  csrsNotProvable: 'CsrsNotProvable',
  /** report: clusters that were not swept for so long that some of their CSRs are not in these counts. */
  clustersNotCounted: 'ClustersNotCounted',
  /** report: report pages that could not be made or written. */
  pagesUnwritten: 'PagesUnwritten',
  /**
   * report: control planes in a rollout, held ones and ones with unseen new certificates included; absent if there are
   * none.
   */
  rolloutsUnderWay: 'RolloutsUnderWay',
  /**
   * report: the share of machines of a rollout that are replaced and show a new certificate. Percent, with dimension
   * `Cluster`.
   */
  rolloutProgress: 'RolloutProgress',
  /** report: duration of a rollout, for an hour after its end. Seconds, with dimension `Cluster`. */
  rolloutDuration: 'RolloutDuration',
  /** sweep: sweeps by webhook, between two ticks. */
  webhookSweeps: 'WebhookSweeps',
  /** notify: messages to people. */
  notified: 'Notified',
} as const;

/**
 * Each costs money in every hour, so at most 15. All others are published only above 0, like the totals of signals: an
 * alarm on one must treat missing data as good.
 */
export const ALWAYS_ON: ReadonlySet<string> = new Set([
  // Heartbeats: missing data breaches.
  METRIC.dispatched,
  METRIC.outcomesFolded,
  METRIC.oldestSweep,
  // The denominator of the others; 0 clusters is news.
  METRIC.registered,
  // 0: sweeps run and none completes.
  METRIC.completed,
  // Never 0, so being here costs nothing extra.
  METRIC.duration,
  // 0: report ran and everything is healthy.
  METRIC.clustersUnwell,
  // Operands of metric math, which has no result without one of them.
  METRIC.csrsIssued,
  METRIC.csrsLate,
]);
