import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { Finding, FleetIndex, IndexedCluster, IndexedRollout, StoredHealth } from '../contracts/fleet-index.ts';
import type { VerdictLine } from '../contracts/outcome.ts';
import type { RegisteredCluster, Registry } from '../contracts/registry.ts';
import type { Provider } from '../identifiers.ts';
import { ALARM_SEVERITIES, type AlarmSettings } from '../tables/alarms.ts';
import { CLUSTER_STATES, type ClusterState } from '../tables/cluster-states.ts';
import { SIGNAL_IDS, SIGNALS, type Signal, type SignalId } from '../tables/signals.ts';
import { clusterSignals, sinceFound } from './cluster-signals.ts';
import { EXPLAINED_BY_MAINTENANCE, ringsAt } from './culprits.ts';
import { type KnownCluster, wordsFor } from './known-cluster.ts';
import { coveredBy, type MaintenanceWindow, type OpenWindow, openWindows } from './maintenance.ts';
import { isJustRebuilt } from './rebuilt.ts';

/** Settings of the monitoring; plain data deployed beside the bundles. */
export interface Monitoring {
  readonly alarms: AlarmSettings;
  readonly maintenance: readonly MaintenanceWindow[];
  /** How often each cluster is audited. */
  readonly auditEveryMinutes: number;
  /** The URL at which `docs/runbooks` is published. */
  readonly runbooks?: string | undefined;
}

/**
 * The whole fleet at one moment: the one view behind metrics, report page, notifications and the command line.
 *
 * A cluster is `gone` when its source was read completely without it: it was removed on purpose and fires no alarm. A
 * source that could not be read removes nothing. A cluster that only lost its tags is still there: as long as it is
 * swept, its hostile requests and expiring certificates fire.
 */
export interface FleetHealth {
  /** RFC 3339. */
  readonly at: string;
  /** In the order in which they need a person. */
  readonly clusters: readonly ClusterHealth[];
  /** Totals of every signal, zeros included; without clusters that are gone, and without what maintenance explains. */
  readonly totals: Readonly<Record<SignalId, number>>;
  readonly counts: Readonly<Record<ClusterState, number>>;
  /** Problems of the discovery, the registry and the lanes. */
  readonly problems: readonly Finding[];
  /** RFC 3339: when the registry or the index was rebuilt, if just now. */
  readonly rebuiltAt?: string | undefined;
  /** RFC 3339: when the registry was rebuilt, while a source was not read since: clusters of it may be missing. */
  readonly undiscoveredSince?: string | undefined;
}

export interface ClusterHealth {
  readonly id: string;
  readonly name: string;
  /** Namespace of its Cluster in Cluster API, if not the default. */
  readonly namespace?: string | undefined;
  readonly provider?: Provider | undefined;
  /** Whether its Machines are in another cluster. */
  readonly isManaged?: boolean;
  /** Its source in the registry: `fleet.yaml`, `eks 111122223333/eu-central-1`. */
  readonly source: string;
  readonly state: ClusterState;
  /** Those above 0, the worst first, without what maintenance explains. */
  readonly signals: readonly Signal[];
  readonly maintenance?: { readonly until: string; readonly reason?: string };
  /** For a cluster that is gone, and one whose tags no longer select it but that still fires. */
  readonly goneSince?: string;
  readonly sweptAt?: string;
  readonly readableAt?: string;
  readonly readable: boolean;
  readonly complete: boolean;
  /** What became of its requests in the newest sweep. */
  readonly requests?: IndexedCluster['counts'];
  /** What keeps it from being swept, and problems of its sweeps. */
  readonly findings: readonly Finding[];
  readonly audit?: AuditSummary;
  readonly rollout?: IndexedRollout;
  readonly verdicts: readonly VerdictLine[];
}

/**
 * Includes every cluster of the registry, also those without data yet, and none that is only in the index. Pure.
 *
 * @param now milliseconds since the epoch
 */
export function fleetHealth(
  registry: Registry,
  index: FleetIndex | undefined,
  monitoring: Monitoring,
  now: number,
): FleetHealth {
  const open = openWindows(monitoring.maintenance, now);
  const known = new Map(Object.entries(index?.clusters ?? {}));
  const rebuiltAt = { registry: registry.rebuiltAt, index: index?.rebuiltAt };
  const clusters = Object.values(registry.clusters)
    .map((registered) => healthOf({ registered, indexed: known.get(registered.id), open, rebuiltAt }, monitoring, now))
    .toSorted(byUrgency(now));
  return {
    at: new Date(now).toISOString(),
    clusters,
    totals: totalsOf(clusters),
    counts: countsOf(clusters),
    problems: index?.problems ?? [],
    rebuiltAt: Object.values(rebuiltAt)
      .filter((at) => isJustRebuilt(at, now))
      .toSorted()
      .at(-1),
    undiscoveredSince: undiscoveredSince(registry),
  };
}

/** What a message needs, for the index. Pure. */
export function storedHealth({ at, counts, clusters }: FleetHealth): StoredHealth {
  return {
    at,
    clusterCount: clusters.length,
    counts,
    clusters: clusters
      .filter(({ signals }) => signals.length > 0)
      .map(({ id, name, namespace, provider, isManaged, state, signals }) => ({
        id,
        name,
        namespace,
        provider,
        isManaged,
        state,
        signals: signals.map((signal) => {
          const { command: _, ...stored } = signal;
          return stored;
        }),
      })),
  };
}

function undiscoveredSince({ rebuiltAt, sources }: Registry): string | undefined {
  if (rebuiltAt === undefined) return undefined;
  return Object.values(sources).some(({ readAt }) => readAt === undefined || readAt < rebuiltAt)
    ? rebuiltAt
    : undefined;
}

interface Known {
  readonly registered: RegisteredCluster;
  readonly indexed: IndexedCluster | undefined;
  readonly open: readonly OpenWindow[];
  readonly rebuiltAt: KnownCluster['rebuiltAt'];
}

function healthOf({ registered, indexed, open, rebuiltAt }: Known, monitoring: Monitoring, now: number): ClusterHealth {
  const { id, source, target, problem, missingSince, untagged, foundAt, seenAt } = registered;
  const { alarms, auditEveryMinutes } = monitoring;
  const name = target?.cluster.name ?? indexed?.name ?? id;
  const isAway = missingSince !== undefined || untagged === true;
  const maintenance = isAway ? undefined : coveredBy({ id, name }, open);
  const told = (signal: Signal): boolean => {
    if (isAway)
      return (
        untagged === true &&
        target !== undefined &&
        'deselected' in SIGNALS[signal.id] &&
        ringsAt(signal, alarms) !== undefined
      );
    return maintenance === undefined || !EXPLAINED_BY_MAINTENANCE.has(signal.id);
  };
  const signals = clusterSignals({ registered, indexed, auditEveryMinutes, rebuiltAt }, now)
    .filter(told)
    .toSorted(byRank(alarms, now));
  const [isRead, isComplete, isAudited] = [indexed?.readableAt, indexed?.completeAt, indexed?.audit?.auditedAt].map(
    (at) => sinceFound(at, foundAt) !== undefined,
  );
  const seen = isRead === true ? (isComplete === true && isAudited === true ? 'all' : 'some') : 'nothing';
  return {
    id,
    ...wordsFor({ registered, indexed }),
    name,
    source,
    state: isAway && signals.length === 0 ? 'gone' : stateOf(signals, { maintenance, seen, alarms, indexed }),
    signals,
    maintenance,
    goneSince: isAway ? (missingSince ?? seenAt) : undefined,
    sweptAt: indexed?.sweptAt,
    readableAt: indexed?.readableAt,
    readable: indexed?.readable ?? false,
    complete: indexed?.complete ?? false,
    requests: indexed?.counts,
    findings: [
      ...(target === undefined && problem !== undefined ? [{ ...problem, since: foundAt }] : []),
      ...(indexed?.findings ?? []),
    ],
    audit: indexed?.audit,
    rollout: indexed?.rollout,
    verdicts: indexed?.verdicts ?? [],
  };
}

interface Circumstances extends Pick<Monitoring, 'alarms'> {
  readonly maintenance: ClusterHealth['maintenance'];
  /** How much of it was ever read: `all` is a complete sweep and an audit. */
  readonly seen: 'nothing' | 'some' | 'all';
  readonly indexed: IndexedCluster | undefined;
}

function stateOf(signals: readonly Signal[], { maintenance, seen, alarms, indexed }: Circumstances): ClusterState {
  const ringing = signals.map((signal) => ringsAt(signal, alarms));
  if (ringing.includes('critical')) return 'critical';
  if (ringing.includes('warning')) return 'warning';
  if (maintenance !== undefined) return 'maintenance';
  if (seen === 'nothing' || indexed === undefined) return 'new';
  const { audit, counts, findingCount } = indexed;
  // Without an audit no one else tells what waits.
  const warnings = audit === undefined ? (counts?.left ?? 0) + findingCount : warningsOf(audit);
  if (warnings > 0) return 'noted';
  return seen === 'all' ? 'well' : 'new';
}

/** Findings of an audit that are more than information. */
export function warningsOf({ counts }: Pick<AuditSummary, 'counts'>): number {
  return counts.critical + counts.warning;
}

/** Firing alarms first, the more severe in front; then by time of expiry. */
function byRank(alarms: AlarmSettings, now: number): (a: Signal, b: Signal) => number {
  const ringing = (signal: Signal): number => {
    const severity = ringsAt(signal, alarms);
    return severity === undefined ? ALARM_SEVERITIES.length : ALARM_SEVERITIES.indexOf(severity);
  };
  const bites = (signal: Signal): number => Math.max(now, bitesAt(signal, now));
  return (a, b) =>
    ringing(a) - ringing(b) || bites(a) - bites(b) || SIGNAL_IDS.indexOf(a.id) - SIGNAL_IDS.indexOf(b.id);
}

/** Without a time it is due now. */
function bitesAt({ due }: Signal, now: number): number {
  const at = due === undefined ? now : Date.parse(due);
  return Number.isNaN(at) ? now : at;
}

/** By state, then by the due time of the worst signal. */
function byUrgency(now: number): (a: ClusterHealth, b: ClusterHealth) => number {
  const bites = ({ signals: [worst] }: ClusterHealth): number =>
    worst === undefined ? Number.MAX_SAFE_INTEGER : bitesAt(worst, now);
  return (a, b) =>
    CLUSTER_STATES.indexOf(a.state) - CLUSTER_STATES.indexOf(b.state) ||
    bites(a) - bites(b) ||
    // What is not read may hide the worst.
    Number(a.readableAt !== undefined) - Number(b.readableAt !== undefined) ||
    (a.id < b.id ? -1 : Number(a.id > b.id));
}

function totalsOf(clusters: readonly ClusterHealth[]): FleetHealth['totals'] {
  const values = Map.groupBy(
    clusters.flatMap(({ signals }) => signals),
    ({ id }) => id,
  );
  const total = (id: SignalId): number => {
    const all = values.get(id) ?? [];
    return SIGNALS[id].fleet === 'sum'
      ? all.reduce((sum, { value }) => sum + value, 0)
      : all.reduce((most, { value }) => Math.max(most, value), 0);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has every key
  return Object.fromEntries(SIGNAL_IDS.map((id) => [id, total(id)])) as FleetHealth['totals'];
}

function countsOf(clusters: readonly ClusterHealth[]): FleetHealth['counts'] {
  const counts = { critical: 0, warning: 0, noted: 0, new: 0, maintenance: 0, well: 0, gone: 0 };
  for (const { state } of clusters) counts[state] += 1;
  return counts;
}
