import type { OrderMessage } from '../aws/queues.ts';
import { deduplicationIdOf, encodeOrder, groupOf, type SweepOrder } from '../contracts/order.ts';

/** An order and the lane that carries it out, as the plan of a tick has them. */
export interface LaneOrder {
  readonly lane: string;
  readonly order: SweepOrder;
}

/**
 * The messages of a plan, by lane.
 *
 * @param occasion what the sweeps are for: two orders of a cluster for one occasion are one
 */
export function messagesByLane(
  orders: readonly LaneOrder[],
  occasion: string,
): ReadonlyMap<string, readonly OrderMessage[]> {
  return new Map(
    [...Map.groupBy(orders, ({ lane }) => lane)].map(([lane, ofLane]) => [
      lane,
      ofLane.map(({ order }) => ({
        group: groupOf(order.target.id),
        deduplicationId: deduplicationIdOf(order.target.id, occasion),
        body: encodeOrder(order),
      })),
    ]),
  );
}
