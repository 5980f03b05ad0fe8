import type { SweepOrder } from './order.ts';

/**
 * One order for all that wait for one cluster: the newest, which knows best where the cluster is and whether its writes are held. What the
 * others look for is looked for too. Pure.
 *
 * @param orders of one cluster; at least one
 */
export function combinedOrder(orders: readonly [SweepOrder, ...SweepOrder[]]): SweepOrder {
  const newest = orders.reduce((best, next) => (next.tick >= best.tick ? next : best));
  const namespaces = new Set(orders.flatMap(({ lookForClusters }) => lookForClusters ?? []));
  return namespaces.size === 0 ? newest : { ...newest, lookForClusters: [...namespaces] };
}
