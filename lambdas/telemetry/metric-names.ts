/** The CloudWatch namespace of every metric. */
export const METRICS_NAMESPACE = 'certmarshal';

/**
 * The functions that publish metrics. Powertools adds the name as dimension `service` to every metric, unasked: an alarm that does not
 * name the dimension looks at a series that does not exist.
 */
export type Service = 'dispatch' | 'sweep';

/**
 * Every metric with its meaning. They are totals of the fleet, without a dimension for the cluster: a series costs money every month,
 * the log line of the sweep has the cluster.
 */
export const METRIC = {
  /** dispatch: targets handed to the queue, once a minute. */
  dispatched: 'Dispatched',
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
  /** Messages of the queue that are no target; they are logged and dropped. */
  messagesUnreadable: 'MessagesUnreadable',
} as const;
