import type { OrderedAudit, SweepOrder } from './order.ts';

/**
 * One order for all that wait for one cluster: the newest, which knows best where the cluster is, what its lane reaches and whether its writes are held. What the
 * others look for is looked for too, and an audit that any of them asks for is made. Pure.
 *
 * @param orders of one cluster; at least one
 */
export function combinedOrder(orders: readonly [SweepOrder, ...SweepOrder[]]): SweepOrder {
  const newest = orders.reduce((best, next) => (next.tick >= best.tick ? next : best));
  const namespaces = new Set(orders.flatMap(({ lookForClusters }) => lookForClusters ?? []));
  const [first, ...others] = orders.flatMap(({ audit }) => audit ?? []);
  const audit = first && others.reduce(farther, first);
  if (namespaces.size === 0 && audit === undefined) return newest;
  return {
    ...newest,
    ...(namespaces.size === 0 ? {} : { lookForClusters: [...namespaces] }),
    ...(audit === undefined ? {} : { audit }),
  };
}

function farther(one: OrderedAudit, other: OrderedAudit): OrderedAudit {
  return {
    secrets: one.secrets || other.secrets,
    kubeletMetrics: one.kubeletMetrics || other.kubeletMetrics,
    ...((one.known ?? other.known) ? { known: true } : {}),
  };
}
