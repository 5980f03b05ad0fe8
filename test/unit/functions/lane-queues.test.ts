import { expect, it } from 'vitest';
import { decodeOrders, MAX_MESSAGE_SIZE, type Order } from '../../../lambdas/contracts/order.ts';
import { messagesByLane } from '../../../lambdas/functions/lane-queues.ts';
import { NOW } from '../fleet/values.ts';

const orders = Array.from({ length: 25 }, (_, n): Order => ({ id: `c${n}`, facts: {}, tick: NOW, deadlineMs: 45_000 }));
const messagesOf = (some: readonly Order[]) =>
  messagesByLane([{ name: 'default.ordinary.1', lane: 'default', orders: some }], '1').get('default') ?? [];
const idsIn = (body: string) => {
  const read = decodeOrders(body);
  return read.ok ? read.value.map(({ id }) => id) : read.problem;
};

it('makes one message of a shard', () => {
  const messages = messagesOf(orders);
  expect(messages.map(({ group, clusters }) => [group, clusters])).toEqual([['default.ordinary.1', 25]]);
  expect(messages.flatMap(({ body }) => idsIn(body))).toEqual(orders.map(({ id }) => id));
});

it('makes messages in groups of their own where the orders are too large for one', () => {
  const certificateAuthority = 'A'.repeat(40_000);
  const messages = messagesOf(orders.map((order) => ({ ...order, facts: { certificateAuthority } })));
  expect(messages.length).toBeGreaterThan(1);
  expect(Math.max(...messages.map(({ body }) => Buffer.byteLength(body)))).toBeLessThanOrEqual(MAX_MESSAGE_SIZE);
  expect(messages.flatMap(({ body }) => idsIn(body))).toEqual(orders.map(({ id }) => id));
  for (const field of ['group', 'deduplicationId'] as const)
    expect(new Set(messages.map((message) => message[field])).size).toBe(messages.length);
});
