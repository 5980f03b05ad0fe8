import type { Fleet } from '../config/fleet.ts';
import type { ExpiredServer, SweepOrder } from '../contracts/order.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RegisteredCluster, Registry } from '../contracts/registry.ts';
import type { Target } from '../contracts/target.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { isSameJson } from '../same-json.ts';
import { isAhead } from '../time.ts';
import { nameMayBeWanted } from './cluster-selection.ts';
import { eksTarget, lanesFor } from './eks-target.ts';
import { handshakeLanes } from './handshake-lanes.ts';
import { listedClusters } from './listed-clusters.ts';
import { expiredServerOf } from './recovery.ts';
import { eksSources, type HubIdentity } from './sources.ts';
import { workloadTarget } from './workload-clusters.ts';

/** The parts of `fleet.yaml` that say how clusters are reached. */
export type FleetOfTargets = Pick<Fleet, 'discovery' | 'managementClusters' | 'clusters' | 'lanes' | 'recovery'>;

/** The part of a `fleet.yaml` deployed beside functions that check targets against it. */
export function fleetOfTargets(fleet: FleetOfTargets): FleetOfTargets {
  const { discovery, managementClusters, clusters, lanes, recovery } = fleet;
  return { discovery, managementClusters, clusters, lanes, recovery };
}

/**
 * Every target that `fleet.yaml` allows in place of the given one: with the same id, and with the given facts that only
 * EKS or a management cluster knows: endpoint, CA bundle, VPC, service CIDRs, remote node networks. Empty if it allows
 * none; several if it leaves a choice of lanes or discovery entries.
 */
export type AllowedTargets = (target: Target) => readonly Target[];

/** Pure. */
export function allowedTargets(fleet: FleetOfTargets, hub: HubIdentity): AllowedTargets {
  const listed = new Map(listedClusters(fleet).clusters?.map(({ id, target }) => [id, target]));
  const sources = new Map(eksSources(fleet.discovery, hub).map((source) => [placeOf(source.scope), source]));
  return (target) => {
    const { id, cluster, access, instances } = target;
    const own = listed.get(id);
    if (own !== undefined) return [own];
    if (access.kind !== 'eks') {
      const found = workloadTarget(fleet, id, cluster.serviceCidrs);
      return found === undefined ? [] : [found];
    }
    const source = sources.get(placeOf(access.scope));
    if (source === undefined) return [];
    const { name, serviceCidrs = [], remoteNodeNetworks = [] } = cluster;
    const said = { ...access, name, serviceCidrs, remoteNodeNetworks, vpcId: instances?.vpcId };
    return source.entries
      .filter((entry) => nameMayBeWanted(entry, name))
      .flatMap((entry) =>
        lanesFor(said.vpcId, entry, fleet.lanes).map((lane) => eksTarget(said, { scope: source.scope, entry, lane })),
      );
  };
}

function placeOf({ account, region }: { readonly account: string; readonly region: string }): string {
  return `${account}/${region}`;
}

/**
 * The registry with every target as `fleet.yaml` has it now: the registry says what was found, never with which
 * credentials it is entered. A cluster without an entry in `fleet.yaml` loses its target. Pure.
 */
export function fitRegistry(registry: Registry, allowed: AllowedTargets): Registry {
  const clusters = Object.entries(registry.clusters).map(([id, cluster]) => [id, fitCluster(cluster, allowed)]);
  return { ...registry, clusters: Object.fromEntries(clusters) };
}

function fitCluster(cluster: RegisteredCluster, allowed: AllowedTargets): RegisteredCluster {
  const { target, ...rest } = cluster;
  if (target === undefined) return cluster;
  const choices = allowed(target).filter(({ id }) => id === target.id);
  if (choices.some((choice) => isSameJson(choice, target))) return cluster;
  const [choice] = choices;
  return choice === undefined ? { ...rest, problem: notInFleet(target.id) } : { ...cluster, target: choice };
}

function notInFleet(id: string): Problem {
  return {
    kind: 'foreign',
    object: `cluster ${id}`,
    message: 'it is in registry.json.gz, but nothing in fleet.yaml finds it, so it is not swept',
    remedy:
      'Nothing to do if fleet.yaml was just changed: the next discovery clears it. If not, find out who else writes to the bucket.',
  };
}

/** Why an order is rejected; undefined if dispatch or hint could have sent it. */
export type OrderRefusal = (order: SweepOrder, now: number) => Problem | undefined;

/**
 * A tick is rounded down to its minute, the schedule delivers it within a minute, dispatch sends until its timeout, and
 * then the order waits in its queue. Milliseconds.
 */
const OLDEST_ORDER_MS =
  (2 * HUB_SIZES.tickSeconds + HUB_SIZES.dispatch.timeoutSeconds + HUB_SIZES.orders.retentionSeconds) * 1000;

/**
 * Checks orders against the deployed `fleet.yaml`: anyone who can write to the queue or the registry can choose a
 * cluster of `fleet.yaml`, but not how it is entered. Pure.
 *
 * @param lane of the function that executes them
 */
export function createOrderRefusal(fleet: FleetOfTargets, hub: HubIdentity, lane: string): OrderRefusal {
  const allowed = allowedTargets(fleet, hub);
  const reachesMachines = handshakeLanes(fleet).includes(lane);
  const namespacesOf = new Map(
    fleet.managementClusters.map(({ name, workloadClusters }) => [name, workloadClusters.namespaces]),
  );
  const isTolerated = (given: ExpiredServer, id: string, now: number): boolean => {
    const server = expiredServerOf(fleet.recovery, id, undefined, now);
    // Only the last audit knows when it was replaced. Using it rejects more; an order without it is honest if no audit
    // has seen the server.
    return isSameJson({ ...given, replacedBefore: undefined }, server);
  };
  const whyNot = (order: SweepOrder, now: number): string | undefined => {
    const { target, tick, lastHeard, audit, expiredServer, lookForClusters = [], handshakes } = order;
    if (target.lane !== lane) return `it is for lane ${target.lane}, and this is lane ${lane}`;
    if (now - tick > OLDEST_ORDER_MS || isAhead(tick, now)) return 'it is too old, or from the future';
    if (isAhead(lastHeard, now)) return 'it says that its cluster was heard in the future';
    const misfit = misfitOf(target, allowed(target));
    if (misfit !== undefined) return misfit;
    if (expiredServer !== undefined && !isTolerated(expiredServer, target.id, now))
      return 'recovery in fleet.yaml does not, or no longer, tolerate that expired certificate';
    if ((audit?.secrets && !target.audit?.secrets) || (audit?.kubeletMetrics && !target.audit?.kubeletMetrics))
      return 'its audit reads more than fleet.yaml opts in to';
    const namespaces = namespacesOf.get(target.id) ?? [];
    if (lookForClusters.some((namespace) => !namespaces.includes(namespace)))
      return 'it looks for workload clusters in a namespace that fleet.yaml does not name';
    return handshakes && !reachesMachines ? `lane ${lane} does not reach machines` : undefined;
  };
  return (order, now) => {
    const why = whyNot(order, now);
    return why === undefined ? undefined : refused(order.target.id, why);
  };
}

function misfitOf(target: Target, choices: readonly Target[]): string | undefined {
  const [first] = choices;
  if (first === undefined) return 'fleet.yaml has no such cluster';
  if (choices.some((choice) => isSameJson(choice, target))) return undefined;
  const parts = Object.keys({ ...first, ...target });
  const part = parts.find((key) => !isSameJson(Reflect.get(first, key), Reflect.get(target, key))) ?? 'lane';
  return `target.${part} is not what fleet.yaml says`;
}

function refused(id: string, why: string): Problem {
  return {
    kind: 'order',
    object: `cluster ${id}`,
    message: `an order to sweep it was not carried out: ${why}`,
    remedy:
      'Nothing to do if certmarshal was just deployed: the next order is as fleet.yaml says. If not, find out who else may write to registry.json.gz and to the queues of orders.',
  };
}
