import type { Fleet } from '../config/fleet.ts';
import type { ClusterFacts, Order, SweepOrder } from '../contracts/order.ts';
import type { Problem } from '../contracts/problem.ts';
import type { RegisteredCluster, Registry } from '../contracts/registry.ts';
import type { Target } from '../contracts/target.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { isAhead } from '../time.ts';
import { nameMayBeWanted } from './cluster-selection.ts';
import { eksTarget, lanesFor } from './eks-target.ts';
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

/** What an order says of a cluster besides its id. Pure. */
export function factsOf({ access, cluster, instances }: Target): ClusterFacts {
  const { serviceCidrs, remoteNodeNetworks } = cluster;
  if (access.kind !== 'eks') return { serviceCidrs };
  const { endpoint, certificateAuthority } = access;
  return { endpoint, certificateAuthority, serviceCidrs, remoteNodeNetworks, vpcId: instances?.vpcId };
}

/**
 * Every target that `fleet.yaml` makes of a cluster and the facts about it. Empty if it has no such cluster; several if
 * it leaves a choice of lanes or discovery entries.
 */
export type TargetsOf = (id: string, facts: ClusterFacts) => readonly Target[];

/** Pure. */
export function createTargetsOf(fleet: FleetOfTargets, hub: HubIdentity): TargetsOf {
  const listed = new Map(listedClusters(fleet).clusters?.map(({ id, target }) => [id, target]));
  const sources = new Map(eksSources(fleet.discovery, hub).map((source) => [placeOf(source.scope), source]));
  return (id, { endpoint, certificateAuthority, vpcId, serviceCidrs, remoteNodeNetworks = [] }) => {
    const own = listed.get(id);
    if (own !== undefined) return [own];
    if (endpoint === undefined || certificateAuthority === undefined) {
      const target = workloadTarget(fleet, id, serviceCidrs);
      return target === undefined ? [] : [target];
    }
    const [account = '', region = '', name = ''] = id.split('/');
    const source = sources.get(placeOf({ account, region }));
    if (source === undefined) return [];
    const cluster = {
      name,
      endpoint,
      certificateAuthority,
      vpcId,
      serviceCidrs: serviceCidrs ?? [],
      remoteNodeNetworks,
    };
    return source.entries
      .filter((entry) => nameMayBeWanted(entry, name))
      .flatMap((entry) =>
        lanesFor(vpcId, entry, fleet.lanes).map((lane) => eksTarget(cluster, { scope: source.scope, entry, lane })),
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
export function fitRegistry(registry: Registry, targetsOf: TargetsOf): Registry {
  const clusters = Object.entries(registry.clusters).map(([id, cluster]) => [id, fitCluster(cluster, targetsOf)]);
  return { ...registry, clusters: Object.fromEntries(clusters) };
}

function fitCluster(cluster: RegisteredCluster, targetsOf: TargetsOf): RegisteredCluster {
  const { target, ...rest } = cluster;
  if (target === undefined) return cluster;
  const choices = targetsOf(cluster.id, factsOf(target));
  const choice = choices.find(({ lane }) => lane === target.lane) ?? choices[0];
  return choice === undefined ? { ...rest, problem: notInFleet(cluster.id) } : { ...cluster, target: choice };
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

/** The order with its target, or why it is refused. */
export type CompleteOrder = (
  order: Order,
  now: number,
) => { readonly ok: true; readonly value: SweepOrder } | { readonly ok: false; readonly problem: Problem };

/** Three ticks: an older one only repeats what newer ones ask for. */
const OLDEST_ORDER_MS = 3 * HUB_SIZES.tickSeconds * 1000;

/**
 * Makes sweeps of orders by the deployed `fleet.yaml`: anyone who can write to the state can choose a
 * cluster of `fleet.yaml`, but not how it is entered, nor how far it is read. Pure.
 *
 * @param lane of the function that executes them
 */
export function createCompleteOrder(
  fleet: Pick<FleetOfTargets, 'lanes' | 'managementClusters' | 'recovery'>,
  targetsOf: TargetsOf,
  lane: string,
): CompleteOrder {
  const handshakes = handshakeLanes(fleet).includes(lane) ? (true as const) : undefined;
  const namespacesOf = new Map(
    fleet.managementClusters.map(({ name, workloadClusters }) => [name, workloadClusters.namespaces]),
  );
  return ({ id, facts, replacedBefore, workloadClusters, audit, ...order }, now) => {
    const { tick, lastHeard } = order;
    if (now - tick > OLDEST_ORDER_MS || isAhead(tick, now)) return refused(id, 'it is too old, or from the future');
    if (isAhead(lastHeard, now)) return refused(id, 'it says that its cluster was heard in the future');
    const choices = targetsOf(id, facts);
    const [first] = choices;
    if (first === undefined) return refused(id, 'fleet.yaml has no such cluster');
    const target = choices.find((choice) => choice.lane === lane);
    if (target === undefined) return refused(id, `its cluster is in lane ${first.lane}, and this is lane ${lane}`);
    const { secrets = false, kubeletMetrics = false } = target.audit ?? {};
    return {
      ok: true,
      value: {
        ...order,
        target,
        handshakes,
        lookForClusters: workloadClusters && namespacesOf.get(id),
        audit: audit && { ...audit, secrets, kubeletMetrics },
        expiredServer: expiredServerOf(fleet.recovery, id, replacedBefore, now),
      },
    };
  };
}

function refused(id: string, why: string): { readonly ok: false; readonly problem: Problem } {
  return {
    ok: false,
    problem: {
      kind: 'order',
      object: `cluster ${id}`,
      message: `an order to sweep it was not carried out: ${why}`,
      remedy:
        'Nothing to do if certmarshal was just deployed: the next order is as fleet.yaml says. If not, find out who else may write to the state bucket.',
    },
  };
}

/**
 * Names of the lanes that reach machines: those in a VPC, unless switched off. Machines are unreachable from outside a
 * VPC.
 */
function handshakeLanes({ lanes }: Pick<Fleet, 'lanes'>): readonly string[] {
  return lanes.filter(({ handshakes }) => handshakes !== false).map(({ name }) => name);
}
