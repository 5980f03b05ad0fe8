import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { MAX_EXPIRED_AT_MOST_MS } from '../identifiers.ts';
import { type Contract, list, matching, type Reading, read, readJson, text } from './contract.ts';
import { RecoveryWindow } from './recovery-window.ts';
import { MAX_NAMESPACES } from './registry.ts';
import { Target } from './target.ts';
import { ClusterId, Count, Flag, Instant, Namespace, Server } from './values.ts';

/** Bytes. What SQS has for certain; the orders of a shard that are larger go into two messages. */
export const MAX_MESSAGE_SIZE = 262_144;
/** The longest that a Lambda function runs. */
const MAX_DEADLINE_MS = 900_000;

/** Old keys lie in backups and on disks of machines that were replaced. */
const ExpiredByAuthority = z.object({
  pin: z.literal('authority'),
  /** How long ago it may have ended. Milliseconds. @default DEFAULT_EXPIRED_AT_MOST_MS */
  expiredAtMostMs: z.optional(Count.check(z.lte(MAX_EXPIRED_AT_MOST_MS, `is more than ${MAX_EXPIRED_AT_MOST_MS}`))),
  /** A certificate that ended before this has been replaced since. Milliseconds since the epoch. @default not known */
  replacedBefore: z.optional(Instant),
});
export type ExpiredByAuthority = Contract<typeof ExpiredByAuthority>;

/**
 * What has to be proven by a server whose certificate has expired, beside its name and its private key: an authority of `caPem` that is valid itself issued it, and it is not too old;
 * or it is exactly the one with this SHA-256 (64 lowercase hexadecimal digits), of any age. One that has not expired is verified as ever.
 */
const ExpiredServer = z.discriminatedUnion('pin', [
  ExpiredByAuthority,
  z.object({ pin: z.literal('fingerprint'), sha256: matching(/^[0-9a-f]{64}$/, 'a SHA-256') }),
]);
export type ExpiredServer = Contract<typeof ExpiredServer>;

/** How far an audit looks that is ordered, besides the handshakes that the order allows anyway. */
const OrderedAudit = z.object({
  secrets: z.boolean(),
  kubeletMetrics: z.boolean(),
  /** The fleet index has seen something of an audit of it: then there is a snapshot, or it was lost. */
  known: Flag,
});
export type OrderedAudit = Contract<typeof OrderedAudit>;

/** Sweep this cluster now. */
const SweepOrder = z.object({
  target: Target,
  /** The minute that dispatch sent it for, or the time of a hint, in milliseconds since the epoch. */
  tick: Instant,
  /** How long the sweep may take, in milliseconds. A cluster that did not answer the last time gets less. */
  deadlineMs: Count.check(
    z.gte(1, `is not between 1 and ${MAX_DEADLINE_MS}`),
    z.lte(MAX_DEADLINE_MS, `is not between 1 and ${MAX_DEADLINE_MS}`),
  ),
  /** Decide, but write nothing, and why: what is known of the cluster contradicts itself. */
  holdWrites: z.optional(text(1_000)),
  /** The API server that the last sweep found behind a kubeconfig. Behind another one nothing is written until the fleet knows it too. */
  server: z.optional(Server),
  /** Look for the workload clusters of this management cluster too, in these namespaces. */
  lookForClusters: z.optional(list(Namespace, MAX_NAMESPACES)),
  /** The lane reaches the machines of the cluster: TLS handshakes with them are worth a try, in a sweep and in an audit. */
  handshakes: Flag,
  /** Audit it too, so far, with what the sweep leaves of the time. */
  audit: z.optional(OrderedAudit),
  /** Make the next step of its rollout, or of looking whether one is due, with what the sweep and the audit leave of the time. */
  rollout: Flag,
  /** A window that a person opened: client certificates of these nodes may be approved. */
  recovery: z.optional(RecoveryWindow),
  /** Between two ticks, because of a hint: not carried out when it is late, so that hints never keep a shard from its ticks. */
  hinted: Flag,
  /** Connect although the certificate of its API server has expired, where that proves this. */
  expiredServer: z.optional(ExpiredServer),
});
export type SweepOrder = Contract<typeof SweepOrder>;

const MESSAGE_VERSION = 3;
/** Twice what dispatch sends. */
const MAX_ORDERS = 100;
const Message = z.object({
  version: z.literal(MESSAGE_VERSION),
  orders: list(z.unknown(), MAX_ORDERS),
});

/** The body of the SQS message that asks for sweeps of the clusters of one shard. */
export function encodeOrders(orders: readonly SweepOrder[]): string {
  return JSON.stringify({ version: MESSAGE_VERSION, orders });
}

/** An order, or what is wrong with it; `id` is that of the cluster, where that much can be read. */
export type OrderReading = Reading<SweepOrder> & { readonly id?: string };

const Named = z.object({ target: z.object({ id: ClusterId }) });

/**
 * Reads the body of an SQS message, each order for itself. Never throws: what dispatch did not write is a value, with the field that is wrong
 * and nothing of its content. Unknown fields are dropped, so that dispatch and sweep can be deployed one after the other. Of two orders for one cluster neither
 * counts: dispatch writes one.
 */
export function decodeOrders(body: string): Reading<readonly OrderReading[]> {
  const message = readJson(Message, body, MAX_MESSAGE_SIZE);
  if (!message.ok) return message;
  const readings = message.value.orders.map((value): OrderReading => {
    const named = read(Named, value);
    const order = read(SweepOrder, value, 'the order');
    return named.ok ? { ...order, id: named.value.target.id } : order;
  });
  const count = new Map<string | undefined, number>();
  for (const { id } of readings) count.set(id, (count.get(id) ?? 0) + 1);
  return {
    ok: true,
    value: readings.map((reading) =>
      reading.ok && count.get(reading.id) !== 1
        ? { ok: false, id: reading.id, problem: 'the message has another order for the same cluster' }
        : reading,
    ),
  };
}

/**
 * The queue drops a second message with the same one within five minutes.
 *
 * @param name of a shard or a cluster
 * @param occasion what the sweeps are for: a tick, or the bucket of a hint
 */
export function deduplicationIdOf(name: string, occasion: string): string {
  return createHash('sha256')
    .update(JSON.stringify([name, occasion]))
    .digest('hex');
}
