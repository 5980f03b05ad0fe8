import type { OrderMessage } from '../aws/queues.ts';
import { deduplicationIdOf, encodeOrders, type SweepOrder } from '../contracts/order.ts';
import type { ShardOrders } from '../fleet/plan-tick.ts';

/** Bytes of the orders in one message: under what SQS takes, with room for the frame. */
const MAX_ORDERS_SIZE = 250_000;

/**
 * The messages of a plan, by lane: one for each shard, or a few where its orders are too large for one.
 *
 * @param occasion what the sweeps are for: two messages of a shard for one occasion are one
 */
export function messagesByLane(
  shards: readonly ShardOrders[],
  occasion: string,
): ReadonlyMap<string, readonly OrderMessage[]> {
  return new Map(
    [...Map.groupBy(shards, ({ lane }) => lane)].map(([lane, ofLane]) => [
      lane,
      ofLane.flatMap(({ name, orders }) =>
        inMessages(orders).map((some, part) => {
          const group = part === 0 ? name : `${name}.${part}`;
          return {
            group,
            deduplicationId: deduplicationIdOf(group, occasion),
            body: encodeOrders(some),
            clusters: some.length,
          };
        }),
      ),
    ]),
  );
}

function inMessages(orders: readonly SweepOrder[]): readonly (readonly SweepOrder[])[] {
  const messages: SweepOrder[][] = [];
  let room = 0;
  for (const order of orders) {
    const size = Buffer.byteLength(JSON.stringify(order)) + 1;
    if (size > room) {
      messages.push([]);
      room = MAX_ORDERS_SIZE;
    }
    messages.at(-1)?.push(order);
    room -= size;
  }
  return messages;
}
