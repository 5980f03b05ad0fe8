import { createHash } from 'node:crypto';
import { sawSomething } from '../audit/summary.ts';
import type { RecoveryEntry } from '../config/fleet.ts';
import type { FleetIndex } from '../contracts/fleet-index.ts';
import type { AuditDue, Order } from '../contracts/order.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RegisteredCluster, Registry } from '../contracts/registry.ts';
import type { Target } from '../contracts/target.ts';
import type { RolloutPolicy } from '../rollout/policy.ts';
import { rolloutPolicyOf } from '../rollout/policy-of.ts';
import { isUnderWay } from '../rollout/summary.ts';
import { entryOf } from '../tables/keys.ts';
import { DAY_MS, MINUTE_MS } from '../time.ts';
import { DEADLINE_MS, SHORT_DEADLINE_MS } from './deadlines.ts';
import { endpointAddressesOf } from './endpoint-addresses.ts';
import { factsOf } from './fits-fleet.ts';
import { recoveryOf } from './recovery.ts';
import { sameServer } from './same-server.ts';
import { type Shard, shardsOf } from './shards.ts';
import { sharedTokens } from './shared-tokens.ts';
import { LISTED } from './sources.ts';

export interface ShardOrders {
  readonly lane: string;
  readonly orders: readonly Order[];
}

/** Interval of work not done each minute: looking for workload clusters, and giving a slow cluster the full time. */
const CADENCE_MINUTES = 10;
/** Clusters of one account and Region that ask EKS in one minute: three or four calls each, ten a second. */
const EKS_AUDITS = 100;
/** Interval after which a missed audit is ordered again. An outcome arrives within two minutes. */
const AUDIT_AGAIN_MINUTES = 5;
/** A cluster that held the thread may do so again, and delays all of its shard. */
const HEAVY_MS = DAY_MS;

export interface TickOptions {
  /** Deployed lanes; clusters of other lanes cannot be swept. @default all */
  readonly lanes?: ReadonlySet<string>;
  /** How often each cluster is audited. @default never */
  readonly auditEveryMinutes?: number;
  /** Audits a cluster without an audit at once. @default at its turn, so that a new fleet is not audited in one tick */
  readonly auditNew?: boolean | undefined;
  /**
   * `rollouts.clusters` of fleet.yaml; each gets a step as often as it is audited. @default no step is ordered, not
   * even of a rollout in progress
   */
  readonly rollouts?: readonly RolloutPolicy[];
  /** `recovery` of fleet.yaml. @default none */
  readonly recovery?: readonly RecoveryEntry[];
}

/**
 * Orders for every sweepable cluster, by shard. Pure. Needs the whole fleet to decide which writes are held. Shards
 * with an audit or a step of a rollout come last, because they take longer.
 *
 * @param tick the minute, in milliseconds since the epoch
 */
export function planTick(
  registry: Registry,
  index: FleetIndex | undefined,
  tick: number,
  options: TickOptions = {},
): readonly ShardOrders[] {
  const { auditEveryMinutes, auditNew, rollouts, recovery = [] } = options;
  const clusters = new Map(reachableIn(registry, options.lanes).map((cluster) => [cluster.id, cluster]));
  const conflicts = conflictsIn([...clusters.values()], index);
  const orderOf = (cluster: ReachableCluster, shard: string): Order => {
    const { id, target, managesClusters } = cluster;
    const indexed = entryOf(index?.clusters, id);
    const holdWrites = conflicts.get(id)?.message ?? doubtOf(cluster, index);
    const question = { shard, index, tick, everyMinutes: auditEveryMinutes, auditNew };
    return {
      id,
      facts: factsOf(target),
      tick,
      deadlineMs: recoveryOf(recovery, id, tick) === undefined ? deadlineOf(cluster, question) : DEADLINE_MS,
      lastHeard: timeOf(indexed?.readableAt),
      countedTo: indexed?.countedTo,
      holdWrites,
      server: serverBehind(cluster, index),
      endpointAddresses: addressesIn(endpointAddressesOf(cluster, indexed, tick)),
      replacedBefore: recovery.some((entry) => entry.cluster === id) ? firstExpiryOf(id, index) : undefined,
      workloadClusters: managesClusters !== undefined && isTimeToLook(id, question) ? true : undefined,
      audit: auditOf(cluster, question),
      rollout: rolloutOf(cluster, target, rollouts, question),
    };
  };
  const members = [...clusters.values()].map((cluster) => ({
    id: cluster.id,
    lane: cluster.target.lane,
    quick: isQuick(cluster, index, tick),
  }));
  const placed = shardsOf(members, index?.apart ?? {}).flatMap((shard) =>
    shard.ids.flatMap((id) => {
      const cluster = clusters.get(id);
      return cluster === undefined ? [] : [{ shard, target: cluster.target, order: orderOf(cluster, shard.name) }];
    }),
  );
  const orders = askingEksInTurns(placed, tick, auditEveryMinutes);
  return [...Map.groupBy(orders, ({ shard }) => shard)]
    .map(([{ lane }, some]) => ({ lane, orders: some.map(({ order }) => order) }))
    .toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** What keeps clusters from being swept, or written to. Pure. */
export function fleetProblems(
  registry: Registry,
  index: FleetIndex | undefined,
  lanes: ReadonlySet<string>,
): readonly Problem[] {
  const reachable = reachableIn(registry, lanes);
  return [
    ...conflictsIn(reachable, index).values(),
    ...sharedTokens(reachable),
    ...Object.values(registry.clusters).flatMap(({ target, problem }) => [
      ...(problem === undefined ? [] : [problem]),
      ...(target === undefined || isDeployed(target, lanes) ? [] : [unknownLane(target)]),
    ]),
    ...Object.values(registry.sources).flatMap(({ problem }) => problem ?? []),
  ];
}

/** A missing cluster contradicts no present one. */
function conflictsIn(
  reachable: readonly ReachableCluster[],
  index: FleetIndex | undefined,
): ReadonlyMap<string, Problem> {
  return sameServer(
    reachable.filter(({ missingSince }) => missingSince === undefined),
    index,
  );
}

/** The order of a cluster, and where it is swept. */
interface PlacedOrder {
  readonly shard: Shard;
  readonly target: Target;
  readonly order: Order;
}

/** Where too many clusters would ask EKS, they take turns: twice as many while one has too many, so that few change theirs. */
function askingEksInTurns(orders: readonly PlacedOrder[], tick: number, everyMinutes = 1): readonly PlacedOrder[] {
  const round = Math.floor(tick / (everyMinutes * MINUTE_MS)) * MINUTE_MS;
  return [...Map.groupBy(orders, askedScope)].flatMap(([scope, same]) => {
    const most = scope === undefined ? Infinity : EKS_AUDITS;
    let asking = same;
    for (let turns = 2; asking.length > most; turns *= 2)
      asking = same.filter(({ order }) => isTurnOf(`EKS ${order.id}`, turns, round));
    const ids = new Set(asking.map(({ order }) => order.id));
    return same.map(({ order, ...placed }) => ({
      ...placed,
      order: ids.has(order.id) ? order : { ...order, audit: order.audit && { ...order.audit, withoutEks: true } },
    }));
  });
}

/** The account and Region that an audit asks about its cluster. */
function askedScope({ target, order: { audit } }: PlacedOrder): string | undefined {
  if (target.access.kind !== 'eks' || audit === undefined || audit.stored === true) return undefined;
  return `${target.access.scope.account}/${target.access.scope.region}`;
}

function addressesIn(remembered: RegisteredCluster['endpointAddresses']): Order['endpointAddresses'] {
  return remembered && Object.keys(remembered);
}

type ReachableCluster = RegisteredCluster & { readonly target: Target };

function reachableIn({ clusters }: Registry, lanes: TickOptions['lanes']): readonly ReachableCluster[] {
  const isReachable = (cluster: RegisteredCluster): cluster is ReachableCluster =>
    cluster.target !== undefined && isDeployed(cluster.target, lanes);
  return Object.values(clusters).filter(isReachable);
}

function isDeployed({ lane }: Target, lanes: TickOptions['lanes']): boolean {
  return lanes?.has(lane) ?? true;
}

function rankOf({ orders }: ShardOrders): number {
  return Math.max(...orders.map(({ audit, rollout }) => (audit === undefined && rollout === undefined ? 0 : 1)));
}

function timeOf(at: string | undefined): number | undefined {
  return at === undefined ? undefined : Date.parse(at);
}

/** EKS itself names endpoint and CA bundle of a cluster, and a person at the keyboard names the context. */
function isNamedByOwner({ target }: Pick<RegisteredCluster, 'target'>): boolean {
  return target?.access.kind === 'eks' || target?.access.kind === 'context';
}

/**
 * Why writes to a cluster are held although nothing contradicts it. Not a problem: usually over after one sweep. A
 * source that is not the owner may lead to a different cluster.
 */
function doubtOf(cluster: RegisteredCluster, index: FleetIndex | undefined): string | undefined {
  const { missingSince } = cluster;
  if (missingSince !== undefined) return `it has been missing since ${missingSince}`;
  if (isNamedByOwner(cluster)) return undefined;
  if (index === undefined) return 'the fleet index is not known, so another cluster may be behind the same API server';
  return serverBehind(cluster, index) === undefined
    ? 'no sweep has shown yet which API server is behind it'
    : undefined;
}

/** A kubeconfig in a secret may lead elsewhere tomorrow. */
function serverBehind(cluster: RegisteredCluster, index: FleetIndex | undefined): string | undefined {
  return isNamedByOwner(cluster) ? undefined : entryOf(index?.clusters, cluster.id)?.server;
}

/** A cluster of another owner gets the long time only after it showed that it is fast. */
function deadlineOf(cluster: RegisteredCluster, { shard, index, tick }: TurnQuestion): number {
  // A slow cluster must be able to show that it is only slow; replacing the control plane also makes it slow.
  return isQuick(cluster, index, tick) || isRolling(cluster, index) || isTurnOf(shard, CADENCE_MINUTES, tick)
    ? DEADLINE_MS
    : SHORT_DEADLINE_MS;
}

/** An audit takes time of its neighbours too. */
function isQuick(cluster: RegisteredCluster, index: FleetIndex | undefined, tick: number): boolean {
  const swept = entryOf(index?.clusters, cluster.id);
  if (swept?.heavyAt !== undefined && tick - Date.parse(swept.heavyAt) < HEAVY_MS) return false;
  return swept === undefined
    ? cluster.source === LISTED || isNamedByOwner(cluster)
    : swept.readable && Math.max(swept.durationMs, swept.audit?.durationMs ?? 0) < SHORT_DEADLINE_MS;
}

function isRolling({ id }: RegisteredCluster, index: FleetIndex | undefined): boolean {
  const known = entryOf(index?.clusters, id)?.rollout;
  return known !== undefined && isUnderWay(known);
}

/** The certificates of machines expire on different days, and any machine may answer: the first expiry counts. */
function firstExpiryOf(id: string, index: FleetIndex | undefined): number | undefined {
  const ends = entryOf(index?.clusters, id)?.audit?.ends;
  return timeOf(ends?.find(({ what }) => what === 'kube-apiserver')?.notAfter);
}

function isTimeToLook(id: string, { shard, index, tick }: TurnQuestion): boolean {
  return entryOf(index?.clusters, id)?.workloadClusters === undefined || isTurnOf(shard, CADENCE_MINUTES, tick);
}

/** Turns are per shard: its clusters take their time together, and its other minutes are short. */
interface TurnQuestion {
  readonly shard: string;
  readonly index: FleetIndex | undefined;
  readonly tick: number;
  readonly everyMinutes: number | undefined;
  readonly auditNew?: boolean | undefined;
}

/**
 * The audit of a cluster whose turn it is, or whose last turn was missed. A new cluster waits for its turn, so a new
 * fleet is not audited in one tick. Until then the last snapshot says what an index that was lost knew.
 */
function auditOf(
  { id, foundAt }: RegisteredCluster,
  { shard, index, tick, everyMinutes, auditNew }: TurnQuestion,
): AuditDue | undefined {
  if (everyMinutes === undefined) return undefined;
  const before = entryOf(index?.clusters, id)?.audit;
  if (before === undefined && auditNew === true) return {};
  // It moved from another shard, whose turn was recent.
  if (before !== undefined && tick - Date.parse(before.auditedAt) < (everyMinutes / 2) * MINUTE_MS) return undefined;
  const last = index === undefined ? undefined : (before?.auditedAt ?? foundAt);
  if (!isDue(shard, everyMinutes, tick, last)) return before === undefined ? { stored: true } : undefined;
  return { known: before !== undefined && sawSomething(before) ? true : undefined };
}

/** @param last time of the last one; undefined if unknown */
function isDue(shard: string, everyMinutes: number, tick: number, last: string | undefined): boolean {
  const elapsed = minutesSinceTurnOf(shard, everyMinutes, tick);
  if (elapsed === 0) return true;
  return elapsed % AUDIT_AGAIN_MINUTES === 0 && last !== undefined && Date.parse(last) < tick - elapsed * MINUTE_MS;
}

/**
 * Whether the next step of its rollout is due: each minute during a rollout, also for a cluster that is no longer
 * selected; otherwise at its turn, or after a missed one, because the audit took all the time. A cluster that is no
 * longer selected gets steps until that is reported.
 */
function rolloutOf(
  { id, foundAt }: RegisteredCluster,
  target: Target,
  policies: readonly RolloutPolicy[] | undefined,
  { shard, index, tick, everyMinutes }: TurnQuestion,
): true | undefined {
  if (policies === undefined || everyMinutes === undefined) return undefined;
  const known = entryOf(index?.clusters, id)?.rollout;
  if (known !== undefined && isUnderWay(known)) return true;
  const policy = rolloutPolicyOf(policies, target);
  // EKS renews the control planes of its clusters.
  const isSelected = policy !== undefined && target.access.kind !== 'eks';
  if (!isSelected && (known === undefined || known.state === 'off')) return undefined;
  const last = index === undefined ? undefined : (known?.at ?? foundAt);
  return isDue(shard, everyMinutes, tick, last) ? true : undefined;
}

function unknownLane({ id, lane }: Target): Problem {
  return {
    kind: 'lane',
    object: `cluster ${id}`,
    message: `it was found for lane ${lane}, which is not deployed`,
    remedy: `Nothing to do if lane ${lane} was just removed: the next discovery finds another one. Otherwise add it to lanes in fleet.yaml, and deploy.`,
  };
}

/**
 * Whether it is the turn of a cluster for work done every `minutes`. Clusters have different, fixed minutes, so that a
 * fleet spreads its heavy work.
 *
 * @param tick milliseconds since the epoch
 */
export function isTurnOf(id: string, minutes: number, tick: number): boolean {
  return minutesSinceTurnOf(id, minutes, tick) === 0;
}

/**
 * Minutes since the turn of a cluster: 0 to `minutes` - 1.
 *
 * @param tick milliseconds since the epoch
 */
function minutesSinceTurnOf(id: string, minutes: number, tick: number): number {
  const phase = createHash('sha256').update(id).digest().readUInt32BE() % minutes;
  return (Math.floor(tick / MINUTE_MS) - phase + minutes) % minutes;
}
