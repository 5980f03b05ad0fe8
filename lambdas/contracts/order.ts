import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { MAX_EXPIRED_AT_MOST_MS } from '../identifiers.ts';
import { type Contract, list, matching, type Reading, readJson, text } from './contract.ts';
import { RecoveryWindow } from './recovery-window.ts';
import { MAX_NAMESPACES } from './registry.ts';
import { Target } from './target.ts';
import { Count, Flag, Instant, Namespace, Server } from './values.ts';

/** Bytes. What SQS has for certain; a CA bundle of two certificates, ARNs, sixteen CIDRs and fifty session tags are far under it. */
const MAX_MESSAGE_SIZE = 262_144;
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

/** What dispatch and hint send, and a sweep receives: sweep this cluster now. */
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
  /** Connect although the certificate of its API server has expired, where that proves this. */
  expiredServer: z.optional(ExpiredServer),
});
export type SweepOrder = Contract<typeof SweepOrder>;

const MESSAGE_VERSION = 2;
const Message = z.extend(SweepOrder, { version: z.literal(MESSAGE_VERSION) });

/** The body of the SQS message that asks for one sweep. */
export function encodeOrder(order: SweepOrder): string {
  return JSON.stringify({ version: MESSAGE_VERSION, ...order });
}

/**
 * Reads the body of an SQS message. Never throws: a message that dispatch did not write is a value, with the field that is wrong
 * and nothing of its content. Unknown fields are dropped, so that dispatch and sweep can be deployed one after the other.
 */
export function decodeOrder(body: string): Reading<SweepOrder> {
  const message = readJson(Message, body, MAX_MESSAGE_SIZE);
  if (!message.ok) return message;
  const { version: _, ...order } = message.value;
  return { ok: true, value: order };
}

/** Source: SQS API Reference, SendMessage, MessageGroupId. */
const MAX_GROUP_LENGTH = 128;

/** Message group: orders of one cluster are received one after the other, never two at once. */
export function groupOf(id: string): string {
  return id.length <= MAX_GROUP_LENGTH ? id : sha256(id);
}

/**
 * The queue drops a second message with the same one within five minutes.
 *
 * @param occasion what the sweep is for: a tick, or the bucket of a hint
 */
export function deduplicationIdOf(id: string, occasion: string): string {
  return sha256(JSON.stringify([id, occasion]));
}

function sha256(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}
