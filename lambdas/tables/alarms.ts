import { type CommandCluster, clusterCommand, readRunbook, word } from '../command.ts';
import type { Provider } from '../identifiers.ts';
import { kebab } from '../words.ts';
import { keysOf } from './keys.ts';
import type { SignalId } from './signals.ts';

export const ALARM_SEVERITIES = ['critical', 'warning'] as const;
/** `critical` pages, `warning` is for the morning. */
export type AlarmSeverity = (typeof ALARM_SEVERITIES)[number];

/** What `fleet.yaml` may change of an alarm. */
export interface AlarmSetting {
  /** In the unit of its metric. The alarm fires at or above it. */
  readonly threshold: number;
  readonly severity: AlarmSeverity | 'off';
}

interface Entry extends AlarmSetting {
  readonly severity: AlarmSeverity;
  /** How `fleet.yaml` may write the threshold: a duration, a number, a factor, a share of something, or not at all. */
  readonly setting: 'seconds' | 'count' | 'burn' | { readonly shareOf: string } | 'none';
  /** Minutes above the threshold, of how many. */
  readonly datapoints: { readonly atLeast: number; readonly of: number };
  /** Suppressed during announced maintenance of a cluster. */
  readonly maintenance?: true;
  /** What it means, in one sentence for the person who is paged. */
  readonly meaning: string;
  /** What no longer works, in one sentence, where the story of a cluster does not say it. */
  readonly consequence?: string | Readonly<Record<Provider | 'either', string>>;
}

/** On one signal of every cluster (`GROUP BY Cluster`): it names the cluster, and new clusters need no change. */
interface SignalAlarm extends Entry {
  readonly watches: { readonly signal: SignalId };
  /**
   * The first command; {@link firstCommand} inserts the cluster. `run` says what is worst and counts the
   * requests that wait.
   */
  readonly first: 'doctor' | 'audit' | 'run' | 'rollout status' | 'rollout plan';
}

/** On a part of the hub: one alarm for each function or topic, whose name is in the first command. */
interface HubAlarm extends Entry {
  /** `largest`: the largest value of all clusters, which report publishes. */
  readonly watches: {
    readonly hub: 'heartbeat' | 'tick' | 'function' | 'topic' | 'rule' | 'metric';
    readonly largest?: SignalId;
  };
  /** For people: when it fires, N being the threshold. */
  readonly firesAt: string;
}

export type AlarmEntry = SignalAlarm | HubAlarm;

const UNREAD = {
  either: 'Meanwhile certmarshal sees and approves no requests there; on EKS, EKS still approves what it can verify.',
  eks: 'Meanwhile certmarshal sees and approves no requests there; EKS still approves what it can verify.',
  'eks-anywhere':
    'Meanwhile certmarshal sees and approves no requests there: a new node that waits for an approval has no kubectl logs and exec.',
} as const;

const HEARTBEAT = {
  watches: { hub: 'heartbeat' },
  firesAt: 'nothing at all',
  setting: 'none',
  severity: 'critical',
  threshold: 1,
  datapoints: { atLeast: 3, of: 5 },
} as const;
const HUB = { firesAt: 'N or more', setting: 'count', severity: 'warning', threshold: 1 } as const;
const SIGNAL = { setting: 'count', threshold: 1, datapoints: { atLeast: 2, of: 3 } } as const;

/**
 * Every alarm. The key is its name in `fleet.yaml`, part of its name in CloudWatch and, in kebab case, of its runbook:
 * `docs/runbooks/alarms/`. The thresholds are the defaults.
 */
export const ALARMS = {
  // certmarshal itself.
  PlanHeartbeat: {
    ...HEARTBEAT,
    meaning: 'No sweeps start any more: kubelet serving certificates are not approved in any cluster.',
  },
  ReportHeartbeat: {
    ...HEARTBEAT,
    meaning: 'The results of sweeps are no longer collected. The sweeps themselves may still run.',
  },
  OldestSweep: {
    watches: { hub: 'heartbeat', largest: 'SweepAge' },
    firesAt: 'N seconds or more, or nothing at all',
    setting: 'seconds',
    severity: 'critical',
    threshold: 300,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A cluster is no longer swept: kubelet serving certificates are not approved there.',
  },
  Executions: {
    watches: { hub: 'tick' },
    ...HUB,
    datapoints: { atLeast: 1, of: 1 },
    meaning:
      'A tick of certmarshal failed, took more than five minutes, or was throttled: clusters are swept a minute late.',
  },
  SweepTimeout: {
    watches: { hub: 'function' },
    firesAt: 'N ms or more',
    setting: { shareOf: 'its timeout' },
    severity: 'warning',
    // Percent of the timeout. A sweep ends itself after 45 seconds, 82 percent.
    threshold: 0.95,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A sweep runs until its timeout: what it did for its clusters is not heard.',
  },
  FunctionErrors: {
    watches: { hub: 'function' },
    ...HUB,
    datapoints: { atLeast: 3, of: 5 },
    meaning: 'A function of certmarshal fails again and again.',
  },
  NotificationsFailed: {
    watches: { hub: 'topic' },
    ...HUB,
    severity: 'critical',
    // There may be no second message.
    datapoints: { atLeast: 1, of: 60 },
    meaning: 'Amazon SNS could not deliver a message: a subscriber of this topic was not notified.',
  },
  AlarmUndelivered: {
    watches: { hub: 'rule' },
    ...HUB,
    severity: 'critical',
    datapoints: { atLeast: 1, of: 60 },
    meaning: 'Amazon EventBridge could not hand the state change of an alarm to notify: people got no message of it.',
  },
  DiscoveryProblems: {
    watches: { hub: 'metric' },
    ...HUB,
    datapoints: { atLeast: 10, of: 15 },
    meaning: 'Clusters cannot be discovered, or no sweep of a lane answers. A new cluster would not be found.',
  },
  SnapshotsUnwritten: {
    watches: { hub: 'metric' },
    ...HUB,
    // With one cluster and rare audits no second one comes in time.
    datapoints: { atLeast: 1, of: 30 },
    meaning: 'Audits cannot store their snapshots. The next audit knows less about earlier ones.',
  },
  JournalUnwritten: {
    watches: { hub: 'metric' },
    ...HUB,
    datapoints: { atLeast: 1, of: 1 },
    meaning: 'Decisions could not be written to the journal; only the log has them.',
  },

  // The clusters.
  ClusterUnreadable: {
    watches: { signal: 'UnreadableFor' },
    first: 'doctor',
    setting: 'seconds',
    severity: 'critical',
    threshold: 600,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'certmarshal cannot read the certificate requests of a cluster.',
    consequence: UNREAD,
  },
  ClusterNeverRead: {
    watches: { signal: 'NeverReadFor' },
    first: 'doctor',
    setting: 'seconds',
    severity: 'warning',
    threshold: 1_800,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'A cluster was found that certmarshal cannot enter.',
    consequence: UNREAD,
  },
  ClusterIncomplete: {
    watches: { signal: 'IncompleteFor' },
    first: 'doctor',
    setting: 'seconds',
    severity: 'warning',
    threshold: 1_800,
    datapoints: { atLeast: 2, of: 3 },
    maintenance: true,
    meaning: 'The requests of a cluster can be listed, but some cannot be judged, or decisions cannot be written.',
  },
  AuditStale: {
    watches: { signal: 'AuditAge' },
    first: 'audit',
    setting: 'seconds',
    severity: 'warning',
    threshold: 7_200,
    datapoints: { atLeast: 2, of: 3 },
    meaning: 'A cluster is no longer audited: a certificate may expire there unnoticed.',
  },
  CertificateCritical: {
    watches: { signal: 'CertificatesCritical' },
    first: 'audit',
    ...SIGNAL,
    severity: 'critical',
    meaning: 'A certificate has expired, or expires so soon that a person must act now.',
  },
  CertificateWarning: {
    watches: { signal: 'CertificatesWarning' },
    first: 'audit',
    ...SIGNAL,
    severity: 'warning',
    meaning: 'A certificate expires soon, or something about it is wrong.',
  },
  KubeletOverdue: {
    watches: { signal: 'KubeletsOverdue' },
    first: 'audit',
    ...SIGNAL,
    severity: 'warning',
    meaning: 'A kubelet did not renew its certificate in time.',
    consequence:
      'When it expires, kubectl logs, exec and metrics of its node fail (serving certificate), or its node goes NotReady (client certificate).',
  },
  CoverageLost: {
    watches: { signal: 'CoverageLost' },
    first: 'audit',
    ...SIGNAL,
    severity: 'critical',
    maintenance: true,
    meaning: 'Certificates that were seen before have been unreadable for long: one may expire unnoticed.',
  },
  CoverageGap: {
    watches: { signal: 'CoverageGapHours' },
    first: 'audit',
    ...SIGNAL,
    setting: 'none',
    severity: 'warning',
    maintenance: true,
    meaning: 'A source of an audit has not been read completely for a day: what only it shows is not watched.',
  },
  RequestsStuck: {
    watches: { signal: 'RequestsStuck' },
    first: 'run',
    ...SIGNAL,
    severity: 'critical',
    meaning: 'Requests pile up, or are approved but not issued.',
  },
  RequestsWaiting: {
    watches: { signal: 'RequestsWaiting' },
    first: 'run',
    ...SIGNAL,
    severity: 'warning',
    maintenance: true,
    meaning: 'Requests stay pending, are denied again and again, or fail.',
  },
  ImpersonationAttempt: {
    watches: { signal: 'RequestsHostile' },
    first: 'run',
    setting: 'count',
    severity: 'critical',
    threshold: 1,
    datapoints: { atLeast: 1, of: 1 },
    meaning: 'A node asks for a certificate with names that are not its own. The request was not approved.',
  },
  IssuedNamesAnother: {
    watches: { signal: 'IssuedNamesAnother' },
    first: 'audit',
    ...SIGNAL,
    severity: 'critical',
    meaning: 'A node has a certificate for a name of another node, of the API server or of a Service.',
  },
  IssuedUnproven: {
    watches: { signal: 'IssuedUnproven' },
    first: 'audit',
    ...SIGNAL,
    severity: 'warning',
    meaning: 'A node has a certificate with a name that no evidence proves.',
  },
  SloFastBurn: {
    watches: { hub: 'metric' },
    firesAt: 'that the last hour burned the error budget N times faster than allowed, or more, with three late CSRs',
    setting: 'burn',
    severity: 'critical',
    // Source, also of the other one: Google, The Site Reliability Workbook, chapter 5.
    threshold: 14.4,
    datapoints: { atLeast: 1, of: 1 },
    meaning: 'Provable requests are not issued in time: at this rate the monthly error budget is used up in two days.',
  },
  SloSlowBurn: {
    watches: { hub: 'metric' },
    firesAt: 'that the last six hours burned the error budget N times faster than allowed, or more',
    setting: 'burn',
    severity: 'warning',
    threshold: 6,
    datapoints: { atLeast: 1, of: 1 },
    meaning: 'Provable requests are not issued in time: at this rate the monthly error budget is used up in five days.',
  },
  RolloutHeld: {
    watches: { signal: 'RolloutsHeld' },
    first: 'rollout status',
    ...SIGNAL,
    setting: 'none',
    severity: 'critical',
    meaning: 'A rollout is held, or certificates expired before one began. Nothing continues automatically.',
  },
  RolloutNeeded: {
    watches: { signal: 'RolloutsNeeded' },
    first: 'rollout plan',
    ...SIGNAL,
    setting: 'none',
    severity: 'warning',
    meaning: 'Machines must be replaced before certificates expire, and a person must act first.',
  },
  RecoveryModeOpen: {
    watches: { signal: 'RecoveriesOpen' },
    first: 'doctor',
    ...SIGNAL,
    setting: 'none',
    severity: 'warning',
    meaning:
      'recovery in fleet.yaml is in force: an expired certificate is accepted, or client certificates are approved.',
  },
} as const satisfies Record<string, AlarmEntry>;

export type AlarmId = keyof typeof ALARMS;
export const ALARM_IDS = keysOf(ALARMS);
export type AlarmSettings = Readonly<Partial<Record<AlarmId, AlarmSetting>>>;

/** The settings of an alarm: those of `fleet.yaml`, else the defaults above. */
export function alarmSetting(id: AlarmId, settings: AlarmSettings): AlarmSetting {
  const { threshold, severity } = ALARMS[id];
  return settings[id] ?? { threshold, severity };
}

const BY_SIGNAL: ReadonlyMap<SignalId | undefined, AlarmId> = new Map(ALARM_IDS.map((id) => [watchedSignal(id), id]));

/** The signal of clusters that an alarm watches. The oldest sweep is the largest `SweepAge` of all clusters. */
export function watchedSignal(id: AlarmId): SignalId | undefined {
  const { watches }: AlarmEntry = ALARMS[id];
  return 'signal' in watches ? watches.signal : watches.largest;
}

/** The alarm that watches a signal: {@link watchedSignal} is its inverse. */
export function alarmOfSignal(signal: SignalId): AlarmId | undefined {
  return BY_SIGNAL.get(signal);
}

/** The alarm that fires instead when it gets worse: the end of this one is then not a recovery. */
export const WORSE: Readonly<Partial<Record<AlarmId, AlarmId>>> = {
  CertificateWarning: 'CertificateCritical',
  IssuedUnproven: 'IssuedNamesAnother',
  KubeletOverdue: 'CertificateCritical',
  CoverageGap: 'CoverageLost',
  RequestsWaiting: 'RequestsStuck',
  RolloutNeeded: 'RolloutHeld',
};

type SignalAlarmId = {
  [Id in AlarmId]: (typeof ALARMS)[Id]['watches'] extends { readonly signal: string } ? Id : never;
}[AlarmId];

/** Whether the alarm is about clusters, not about certmarshal. */
export function isOnSignal(id: AlarmId): id is SignalAlarmId {
  return 'signal' in ALARMS[id].watches;
}

/**
 * The first command for an alarm on clusters, the same in the alarm's description and in messages.
 *
 * @param cluster with its id in the fleet; without it the command contains ID or CLUSTER
 */
export function firstCommand(id: SignalAlarmId, cluster?: CommandCluster & { readonly id: string }): string {
  const { first } = ALARMS[id];
  if (first === 'doctor') return `certmarshal doctor --fleet fleet.yaml --cluster ${word(cluster?.id, 'ID')}`;
  // `certmarshal rollout` refuses EKS clusters.
  const verb = cluster?.provider === 'eks' && first.startsWith('rollout') ? 'audit' : first;
  return clusterCommand(verb, cluster ?? { name: 'CLUSTER' });
}

/** `ClusterUnreadable` → `docs/runbooks/alarms/cluster-unreadable.md`. */
export function alarmRunbook(id: AlarmId): string {
  return `docs/runbooks/alarms/${kebab(id)}.md`;
}

/**
 * The runbook of an alarm for people: its URL, else the command that prints it.
 *
 * @param runbooks `monitoring.runbooks` of fleet.yaml: the URL at which `docs/runbooks` is published
 */
export function runbookPlace(id: AlarmId, runbooks: string | undefined): string {
  return runbooks === undefined ? readRunbook(id) : `${runbooks}/alarms/${kebab(id)}.md`;
}
