import type { OrderMessage } from '../aws/queues.ts';
import { deduplicationIdOf, encodeOrders, MAX_MESSAGE_SIZE, type Order } from '../contracts/order.ts';
import type { ShardOrders } from '../fleet/plan-tick.ts';

/**
 * The messages of a plan, by lane: one for each shard, or several where its orders exceed the size of a message.
 *
 * @param occasion why the clusters are swept; messages of one shard and one occasion are deduplicated
 */
export function messagesByLane(
  shards: readonly ShardOrders[],
  occasion: string,
): ReadonlyMap<string, readonly OrderMessage[]> {
  return new Map(
    [...Map.groupBy(shards, ({ lane }) => lane)].map(([lane, ofLane]) => [
      lane,
      ofLane.flatMap(({ name, orders }) =>
        inMessages(orders).map((message, part) => {
          const group = part === 0 ? name : `${name}.${part}`;
          return {
            group,
            deduplicationId: deduplicationIdOf(group, occasion),
            ...message,
          };
        }),
      ),
    ]),
  );
}

function inMessages(orders: readonly Order[]): readonly Pick<OrderMessage, 'body' | 'clusters'>[] {
  const body = encodeOrders(orders);
  if (Buffer.byteLength(body) <= MAX_MESSAGE_SIZE || orders.length < 2) return [{ body, clusters: orders.length }];
  const half = Math.ceil(orders.length / 2);
  return [...inMessages(orders.slice(0, half)), ...inMessages(orders.slice(half))];
}
