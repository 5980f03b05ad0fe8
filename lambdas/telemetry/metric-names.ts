/** The CloudWatch namespace of every metric. */
export const METRICS_NAMESPACE = 'certmarshal';

/**
 * The functions that publish metrics. Powertools adds the name as dimension `service` to every metric, unasked: an alarm that does not
 * name the dimension looks at a series that does not exist.
 */
export type Service = 'dispatch' | 'sweep' | 'report' | 'hint' | 'notify';

/**
 * Every metric with its meaning, but for those of `SIGNALS`, which report publishes under their own names. These are totals of the fleet, without a dimension for
 * the cluster: a series costs money every month, the log line of the sweep has the cluster. `docs/metrics.md` has all of them; a test compares.
 */
export const METRIC = {
  /** dispatch: orders handed to the queues, once a minute. */
  dispatched: 'Dispatched',
  /** dispatch: clusters in the registry, once a minute. */
  registered: 'Registered',
  /** dispatch: what is wrong with the discovery, the registry or the queues; the log says what. A cluster that is made, deleted or gone is no problem. */
  discoveryProblems: 'DiscoveryProblems',
  /** Requests approved; also counted are those that mode observe kept from being written, under `CsrObserved`. */
  approved: 'CsrApproved',
  /** Requests denied, which only a policy with `onHostile: deny` does. */
  denied: 'CsrDenied',
  /** Decisions that mode observe kept from being written. */
  observed: 'CsrObserved',
  /** Requests left undecided: proof is missing or contradicts them. The same request counts again in each sweep. */
  left: 'CsrLeft',
  /** Requests that were not ours or too late. The same request counts again in each sweep. */
  ignored: 'CsrIgnored',
  /** Decisions that could not be written, or not in time. */
  writeFailed: 'CsrWriteFailed',
  /** Sweeps that read, judged and wrote everything. */
  completed: 'SweepsCompleted',
  /** Sweeps that did not, unreachable clusters among them; the log says which and why. */
  incomplete: 'SweepsIncomplete',
  /** Milliseconds from opening the connection to the last write, one value for each sweep. */
  duration: 'SweepDuration',
  /** sweep, hint: messages of the queue that cannot be read; they are logged and dropped. */
  messagesUnreadable: 'MessagesUnreadable',
  /** sweep: outcomes that could not be sent to report. The sweep itself is not touched by that, and the next one tells as much. */
  outcomesUnsent: 'OutcomesUnsent',
  /** sweep: audits made, one value for each. */
  audits: 'Audits',
  /** sweep: findings of these audits, one value for each; the index says which. */
  auditCritical: 'AuditFindingsCritical',
  auditWarning: 'AuditFindingsWarning',
  /** sweep: of audits that ask kubelets for their metrics, renewals of serving certificates that failed, and kubelets that replaced theirs far from 70 % to 90 % of their life. */
  kubeletRenewErrors: 'KubeletRenewErrors',
  kubeletRotationsUnusual: 'KubeletRotationsUnusual',
  /** sweep: audits whose snapshot could not be read, so that it is not written over, or not written. The next audit knows less of before. */
  snapshotsUnwritten: 'SnapshotsUnwritten',
  /** sweep: decisions written to the journal, and 1 for each sweep whose decisions could not be: then only the log has them. */
  journalLines: 'JournalLines',
  journalUnwritten: 'JournalUnwritten',
  /** report: outcomes folded into the index, those of dispatch among them, one value for each tick; none when there were none. */
  outcomesFolded: 'OutcomesFolded',
  /** report: outcomes that cannot be read; they are dropped, and the first are logged. */
  outcomesUnreadable: 'OutcomesUnreadable',
  /** report: registered clusters whose requests the last sweep could not list. */
  clustersUnreadable: 'ClustersUnreadable',
  /** report: seconds since the last sweep, of the cluster where that is the longest ago; 0 without clusters. */
  oldestSweep: 'OldestSweep',
  /** report: clusters that an alarm rings for, with the thresholds of `fleet.yaml`. */
  clustersUnwell: 'ClustersUnwell',
  /** report: clusters that are in a maintenance window. */
  clustersInMaintenance: 'ClustersInMaintenance',
  /** report: of the requests that could be proven, in 30 days, those accepted in time, and what is left of those that may be missed. Percent; absent while there was none. */
  sloAttainment: 'SloAttainment',
  sloBudgetLeft: 'SloBudgetLeft',
  /** report: of all requests of 24 hours, those that were not accepted, in percent, and those that nobody could prove. */
  requestsNotAccepted: 'RequestsNotAccepted',
  requestsUnprovable: 'RequestsUnprovable',
  /** report: within how many seconds requests of 24 hours were approved, twenty values of the same weight: the statistics p50 and p95 of the series say what they are called. */
  requestWait: 'RequestWait',
  /** report: report pages that could not be made or written, 1 for each. */
  pagesUnwritten: 'PagesUnwritten',
  /** report: control planes that roll, or whose new certificates are not all seen yet, or that are held; absent while there is none. */
  rolloutsUnderWay: 'RolloutsUnderWay',
  /** report: of a cluster that rolls, the machines that are replaced and show a new certificate, of those there are to be. Percent, with dimension `Cluster`. */
  rolloutProgress: 'RolloutProgress',
  /** report: how long a rollout took, for an hour after it is done. Seconds, with dimension `Cluster`. */
  rolloutDuration: 'RolloutDuration',
  /** hint: clusters that audit logs, launches and webhooks asked to look at. */
  hints: 'Hints',
  /** hint: sweeps ordered between two ticks. */
  hintedSweeps: 'HintedSweeps',
  /** notify: messages to people. */
  notified: 'Notified',
} as const;

/** Each is paid for in every hour, so there are at most 15. All others are published only above 0, as the totals of signals are: an alarm on one must treat missing data as good. */
export const ALWAYS_ON: ReadonlySet<string> = new Set([
  // Heartbeats: missing data breaches.
  METRIC.dispatched,
  METRIC.outcomesFolded,
  METRIC.oldestSweep,
  // What the others are compared with; 0 clusters is news.
  METRIC.registered,
  // 0 says that sweeps run and none completes.
  METRIC.completed,
  // Never 0, and so no dearer for being here.
  METRIC.duration,
  // 0 says that report looked and all is well.
  METRIC.clustersUnwell,
  // The worst value of both is 0 or below.
  METRIC.sloAttainment,
  METRIC.sloBudgetLeft,
  // Never 0, and there is a request in most days.
  METRIC.requestWait,
]);
