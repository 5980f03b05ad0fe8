import { createHash } from 'node:crypto';
import type { AuditReach } from '../audit/audit-target.ts';
import { type ExpiredServer, LONGEST_EXPIRED_AT_MOST_MS } from '../kubernetes/connection.ts';
import type { RecoveryWindow } from '../recovery/window.ts';
import { readRecoveryWindow } from './read-recovery.ts';
import { readServer } from './read-sweep.ts';
import { readNamespace, readTarget } from './read-target.ts';
import {
  count,
  fields,
  flag,
  instant,
  list,
  mark,
  matching,
  oneOf,
  optional,
  parsed,
  present,
  type Read,
  reading,
  ShapeError,
  text,
  versionOf,
} from './shape.ts';
import { MAX_NAMESPACES, type Target } from './target.ts';

/** What dispatch and hint send, and a sweep receives: sweep this cluster now. */
export interface SweepOrder {
  readonly target: Target;
  /** The minute that dispatch sent it for, or the time of a hint, in milliseconds since the epoch. */
  readonly tick: number;
  /** How long the sweep may take, in milliseconds. A cluster that did not answer the last time gets less. */
  readonly deadlineMs: number;
  /** Decide, but write nothing, and why: what is known of the cluster contradicts itself. */
  readonly holdWrites?: string;
  /** The API server that the last sweep found behind a kubeconfig. Behind another one nothing is written until the fleet knows it too. */
  readonly server?: string;
  /** Look for the workload clusters of this management cluster too, in these namespaces. */
  readonly lookForClusters?: readonly string[];
  /** The lane reaches the machines of the cluster: TLS handshakes with them are worth a try, in a sweep and in an audit. */
  readonly handshakes?: true;
  /** Audit it too, so far, with what the sweep leaves of the time. */
  readonly audit?: OrderedAudit;
  /** Make the next step of its rollout, or of looking whether one is due, with what the sweep and the audit leave of the time. */
  readonly rollout?: true;
  /** Somebody opened it: client certificates of these nodes may be approved. */
  readonly recovery?: RecoveryWindow;
  /** Connect although the certificate of its API server has expired, where that proves this. */
  readonly expiredServer?: ExpiredServer;
}

/** How far an audit looks that is ordered, besides the handshakes that the order allows anyway. */
export type OrderedReach = Omit<AuditReach, 'handshakes'>;

export interface OrderedAudit extends OrderedReach {
  /** The fleet index has seen something of an audit of it: then there is a snapshot, or it was lost. */
  readonly known?: true;
}

export type DecodedOrder =
  | { readonly ok: true; readonly order: SweepOrder }
  | { readonly ok: false; readonly problem: string };

const MESSAGE_VERSION = 2;
// Characters: a CA bundle of two certificates, ARNs, sixteen CIDRs and fifty session tags are far under it.
const MAX_MESSAGE_LENGTH = 65_536;
/** The longest that a Lambda function runs. */
const MAX_DEADLINE_MS = 900_000;
const MAX_REASON_LENGTH = 1_000;

/** Source: SQS API Reference, SendMessage, MessageGroupId. */
const MAX_GROUP_LENGTH = 128;

/** The body of the SQS message that asks for one sweep. */
export function encodeOrder(order: SweepOrder): string {
  return JSON.stringify({ version: MESSAGE_VERSION, ...order });
}

/**
 * Reads the body of an SQS message. Never throws: a message that dispatch did not write is a value, with the field that is wrong
 * and nothing of its content. Unknown fields are ignored, so that dispatch and sweep can be deployed one after the other.
 */
export function decodeOrder(body: string): DecodedOrder {
  const read = reading(() => readOrder(body));
  return read.ok ? { ok: true, order: read.value } : read;
}

function readOrder(body: string): SweepOrder {
  const message = parsed(body, MAX_MESSAGE_LENGTH);
  versionOf(message, MESSAGE_VERSION);
  return {
    tick: instant(message['tick'], 'tick'),
    target: readTarget(message['target'], 'target'),
    deadlineMs: readDeadline(message['deadlineMs']),
    ...present({
      holdWrites: optional(text(MAX_REASON_LENGTH))(message['holdWrites'], 'holdWrites'),
      server: optional(readServer)(message['server'], 'server'),
      lookForClusters: optional(list(readNamespace, MAX_NAMESPACES))(message['lookForClusters'], 'lookForClusters'),
      handshakes: optional(mark)(message['handshakes'], 'handshakes'),
      audit: optional(readReach)(message['audit'], 'audit'),
      rollout: optional(mark)(message['rollout'], 'rollout'),
      recovery: optional(readRecoveryWindow)(message['recovery'], 'recovery'),
      expiredServer: optional(readExpiredServer)(message['expiredServer'], 'expiredServer'),
    }),
  };
}

const readReach: Read<OrderedAudit> = (value, path) => {
  const reach = fields(value, path);
  return {
    secrets: flag(reach['secrets'], `${path}.secrets`),
    kubeletMetrics: flag(reach['kubeletMetrics'], `${path}.kubeletMetrics`),
    ...present({ known: optional(mark)(reach['known'], `${path}.known`) }),
  };
};

const readExpiredServer: Read<ExpiredServer> = (value, path) => {
  const server = fields(value, path);
  const pin = oneOf(['authority', 'fingerprint'])(server['pin'], `${path}.pin`);
  if (pin === 'authority')
    return {
      pin,
      ...present({
        expiredAtMostMs: optional(readExpiredAtMost)(server['expiredAtMostMs'], `${path}.expiredAtMostMs`),
        replacedBefore: optional(instant)(server['replacedBefore'], `${path}.replacedBefore`),
      }),
    };
  return { pin, sha256: matching(/^[0-9a-f]{64}$/, 'a SHA-256')(server['sha256'], `${path}.sha256`) };
};

const readExpiredAtMost: Read<number> = (value, path) => {
  const ms = count(value, path);
  if (ms > LONGEST_EXPIRED_AT_MOST_MS) throw new ShapeError(`${path} is more than ${LONGEST_EXPIRED_AT_MOST_MS}`);
  return ms;
};

function readDeadline(value: unknown): number {
  const deadline = count(value, 'deadlineMs');
  if (deadline === 0 || deadline > MAX_DEADLINE_MS)
    throw new ShapeError(`deadlineMs is not between 1 and ${MAX_DEADLINE_MS}`);
  return deadline;
}

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
