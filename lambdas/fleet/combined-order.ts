import type { OrderedAudit, SweepOrder } from '../contracts/order.ts';

/**
 * One order for all that wait for one cluster: the newest, which knows best where the cluster is, what its lane reaches and whether its writes are held. What the
 * others look for is looked for too, and an audit or a step of a rollout that any of them asks for is made: a hint knows of none. Pure.
 *
 * @param orders of one cluster; at least one
 */
export function combinedOrder(orders: readonly [SweepOrder, ...SweepOrder[]]): SweepOrder {
  const newest = orders.reduce((best, next) => (next.tick >= best.tick ? next : best));
  const namespaces = new Set(orders.flatMap(({ lookForClusters }) => lookForClusters ?? []));
  const [first, ...others] = orders.flatMap(({ audit }) => audit ?? []);
  const audit = first && others.reduce(farther, first);
  // What dispatch says of rollout and recovery counts; a hint, which is of an EKS cluster, says nothing of them.
  const byAge = orders.toSorted((a, b) => b.tick - a.tick);
  const last = <K extends 'rollout' | 'recovery' | 'expiredServer'>(key: K) =>
    byAge.find((order) => order[key] !== undefined)?.[key];
  return {
    ...newest,
    lookForClusters: namespaces.size === 0 ? newest.lookForClusters : [...namespaces],
    audit,
    rollout: last('rollout'),
    recovery: last('recovery'),
    expiredServer: last('expiredServer'),
  };
}

function farther(one: OrderedAudit, other: OrderedAudit): OrderedAudit {
  return {
    secrets: one.secrets || other.secrets,
    kubeletMetrics: one.kubeletMetrics || other.kubeletMetrics,
    known: one.known ?? other.known,
  };
}
