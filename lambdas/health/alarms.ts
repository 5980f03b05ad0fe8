import { kebab } from '../expiry/words.ts';
import { CLASS_SIGNALS, type SignalId } from './signals.ts';

export const ALARM_SEVERITIES = ['critical', 'warning'] as const;
/** `critical` wakes somebody up, `warning` is for the morning. */
export type AlarmSeverity = (typeof ALARM_SEVERITIES)[number];

/** What `fleet.yaml` may change of an alarm. */
export interface AlarmSetting {
  /** In the unit of its metric. The alarm rings at it and above. */
  readonly threshold: number;
  readonly severity: AlarmSeverity | 'off';
}

export interface AlarmEntry extends AlarmSetting {
  readonly severity: AlarmSeverity;
  /**
   * What it looks at: one signal of every cluster (`GROUP BY Cluster`), which names the culprit and needs no change when a cluster joins; or something of
   * the hub, for which there is one alarm a function or queue.
   */
  readonly watches: { readonly signal: SignalId } | { readonly hub: 'heartbeat' | 'function' | 'queue' | 'metric' };
  /** Minutes that ring, of how many. */
  readonly datapoints: { readonly atLeast: number; readonly of: number };
  /** Announced maintenance of a cluster explains it. */
  readonly maintenance?: true;
  /** What it means, in one sentence for whoever is woken up. */
  readonly meaning: string;
}

/**
 * Every alarm. The key is its name in `fleet.yaml`, part of its name in CloudWatch and, in kebab case, of its runbook: `docs/runbooks/alarms/`.
 * The thresholds are those of a fleet that says nothing.
 */
export const ALARMS = {
  // certmarshal itself.
  DispatchHeartbeat: {
    watches: { hub: 'heartbeat' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'No sweeps are started any more: kubelet serving certificates are no longer approved anywhere.',
  },
  ReportHeartbeat: {
    watches: { hub: 'heartbeat' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'Nothing is known any more of what becomes of the sweeps; they may run all the same.',
  },
  OldestSweep: {
    watches: { hub: 'heartbeat' },
    severity: 'critical',
    threshold: 300,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A cluster is no longer swept: kubelet serving certificates are not approved there.',
  },
  FunctionErrors: {
    watches: { hub: 'function' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A function of certmarshal fails again and again.',
  },
  FunctionThrottles: {
    watches: { hub: 'function' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A function of certmarshal is not let run: the concurrency of the account or its own is used up.',
  },
  FunctionDuration: {
    watches: { hub: 'function' },
    severity: 'warning',
    // Of the timeout of the function.
    threshold: 0.95,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A function of certmarshal needs nearly all the time it has: soon it will not end its work.',
  },
  QueueAge: {
    watches: { hub: 'queue' },
    severity: 'warning',
    // Of the retention of the queue.
    threshold: 0.75,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'Messages wait so long in a queue that they will be lost.',
  },
  DiscoveryProblems: {
    watches: { hub: 'metric' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 10, of: 15 },
    meaning: 'Clusters cannot be discovered, or an order cannot be put up: a new cluster would not be seen.',
  },
  SnapshotsUnwritten: {
    watches: { hub: 'metric' },
    severity: 'warning',
    threshold: 1,
    // Of one cluster, and where audits are rare, no second one comes in time.
    datapoints: { atLeast: 1, of: 30 },
    meaning: 'Audits cannot keep what they saw: the next one knows less of before.',
  },
  JournalUnwritten: {
    watches: { hub: 'metric' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 1, of: 1 },
    meaning: 'Decisions could not be written to the journal; only the log has them.',
  },

  // The clusters.
  ClusterUnreadable: {
    watches: { signal: 'UnreadableFor' },
    severity: 'critical',
    threshold: 600,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'A cluster does not let its requests be listed: nothing is approved in it, and new requests are not seen.',
  },
  ClusterNeverRead: {
    watches: { signal: 'NeverReadFor' },
    severity: 'warning',
    threshold: 1_800,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'A cluster was found that certmarshal cannot enter.',
  },
  ClusterIncomplete: {
    watches: { signal: 'IncompleteFor' },
    severity: 'warning',
    threshold: 1_800,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning:
      'The requests of a cluster can be listed, but not all of them can be judged, or decisions cannot be written.',
  },
  AuditStale: {
    watches: { signal: 'AuditAge' },
    severity: 'warning',
    threshold: 7_200,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A cluster is no longer audited: a certificate may end there unseen.',
  },
  CertificateCritical: {
    watches: { signal: 'CertificatesCritical' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A certificate has ended, or ends so soon that somebody must act now.',
  },
  CertificateWarning: {
    watches: { signal: 'CertificatesWarning' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A certificate ends soon, or something about it is wrong.',
  },
  KubeletOverdue: {
    watches: { signal: 'KubeletsOverdue' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A kubelet should have renewed its certificate and did not.',
  },
  CoverageLost: {
    watches: { signal: 'CoverageLost' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'Certificates that were seen before cannot be seen for long: one may end unseen.',
  },
  RequestsStuck: {
    watches: { signal: 'RequestsStuck' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'Requests pile up, or are approved and not issued.',
  },
  RequestsWaiting: {
    watches: { signal: 'RequestsWaiting' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'Requests wait undecided, are denied again and again, or fail.',
  },
  ImpersonationAttempt: {
    watches: { signal: 'RequestsHostile' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 1, of: 1 },
    meaning: 'A node asks for a certificate that covers what is not its own. It was refused.',
  },
  SloFastBurn: {
    watches: { signal: 'SloFastBurn' },
    severity: 'critical',
    threshold: 14.4,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'Requests that could be proven are not approved in time: the error budget of a month is gone in two days.',
  },
  SloSlowBurn: {
    watches: { signal: 'SloSlowBurn' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'More requests are missed than the objective allows.',
  },
  RolloutHeld: {
    watches: { signal: 'RolloutsHeld' },
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A rollout is held, or certificates ended before one began: nothing goes on by itself.',
  },
  RolloutNeeded: {
    watches: { signal: 'RolloutsNeeded' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'Machines have to be rolled before certificates end, and a person has to act first.',
  },
  RecoveryModeOpen: {
    watches: { signal: 'RecoveriesOpen' },
    severity: 'warning',
    threshold: 1,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A cluster is entered although its certificates ended, because somebody opened its recovery.',
  },
} as const satisfies Record<string, AlarmEntry>;

export type AlarmId = keyof typeof ALARMS;
export type AlarmSettings = Readonly<Partial<Record<AlarmId, AlarmSetting>>>;

/** What counts for an alarm: what `fleet.yaml` says, else what is above. */
export function alarmSetting(id: AlarmId, settings: AlarmSettings): AlarmSetting {
  const { threshold, severity } = ALARMS[id];
  return settings[id] ?? { threshold, severity };
}

/**
 * Whether the alarm on a signal looks at each class of certificate by itself: which one it is says more. With another threshold the classes of a cluster count
 * together, as they do on the report page.
 */
export function isByClass(signal: SignalId, threshold: number): boolean {
  return CLASS_SIGNALS.has(signal) && threshold === 1;
}

/** Signals that no alarm asks for but by class: the series of their cluster as a whole would be paid for nothing. */
export function signalsByClass(settings: AlarmSettings): ReadonlySet<SignalId> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
  const ids = Object.keys(ALARMS) as AlarmId[];
  const together = ids.flatMap((id) => {
    const { watches }: AlarmEntry = ALARMS[id];
    const { threshold, severity } = alarmSetting(id, settings);
    return 'signal' in watches && severity !== 'off' && !isByClass(watches.signal, threshold) ? [watches.signal] : [];
  });
  return new Set([...CLASS_SIGNALS].filter((signal) => !together.includes(signal)));
}

/** `ClusterUnreadable` → `docs/runbooks/alarms/cluster-unreadable.md`. */
export function alarmRunbook(id: AlarmId): string {
  return `docs/runbooks/alarms/${kebab(id)}.md`;
}
