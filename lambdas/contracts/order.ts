import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { type Contract, list, lossy, type Reading, read, readJson, text } from './contract.ts';
import { EksAccess, type Target, VpcId } from './target.ts';
import { Addresses, Cidrs, ClusterId, Count, Flag, Instant, Server } from './values.ts';

/** Bytes, below every limit of SQS; larger orders of a shard take two messages. */
export const MAX_MESSAGE_SIZE = 262_144;
/** The maximum timeout of a Lambda function. */
const MAX_DEADLINE_MS = 900_000;

/** Old keys are in backups and on disks of replaced machines. */
export interface ExpiredByAuthority {
  readonly pin: 'authority';
  /** How long ago it may have expired. Milliseconds. @default DEFAULT_EXPIRED_AT_MOST_MS */
  readonly expiredAtMostMs?: number | undefined;
  /** A certificate that expired before this has been replaced since. Milliseconds since the epoch. @default unknown */
  readonly replacedBefore?: number | undefined;
}

/**
 * What a server with an expired certificate must prove, besides its name and its private key: a valid CA of `caPem`
 * issued it, and it is not too old; or it is exactly the one with this SHA-256 (64 lowercase hexadecimal digits), of
 * any age. A certificate that has not expired is verified as usual.
 */
export type ExpiredServer = ExpiredByAuthority | { readonly pin: 'fingerprint'; readonly sha256: string };

/** What only EKS or a management cluster knows of a cluster, and fleet.yaml does not. */
const ClusterFacts = z.object({
  endpoint: z.optional(EksAccess.shape.endpoint),
  certificateAuthority: z.optional(EksAccess.shape.certificateAuthority),
  vpcId: z.optional(VpcId),
  serviceCidrs: z.optional(Cidrs),
  remoteNodeNetworks: z.optional(Cidrs),
});
export type ClusterFacts = Contract<typeof ClusterFacts>;

const AuditDue = z.object({
  /** Enough other clusters of its account and Region ask EKS in this minute: what is known from EKS stays. */
  withoutEks: Flag,
  /** The fleet index has an earlier audit: then a snapshot exists, or was lost. */
  known: Flag,
  /** Only read the last snapshot: the fleet index has no audit of the cluster. */
  stored: Flag,
});
export type AuditDue = Contract<typeof AuditDue>;

/**
 * Sweep this cluster now. It says what is due and what only AWS or a cluster knows; how the cluster is entered, the
 * sweep takes from the fleet.yaml beside its code.
 */
const Order = z.object({
  id: ClusterId,
  facts: ClusterFacts,
  /** The minute that dispatch sent it for, or the time of a hint, in milliseconds since the epoch. */
  tick: Instant,
  /** Time for the sweep, in milliseconds. Less for a cluster that did not answer last time. */
  deadlineMs: Count.check(
    z.gte(1, `is not between 1 and ${MAX_DEADLINE_MS}`),
    z.lte(MAX_DEADLINE_MS, `is not between 1 and ${MAX_DEADLINE_MS}`),
  ),
  /**
   * When the newest sweep that read the cluster began, in milliseconds since the epoch: decides which refusals are
   * lines of the journal. @default every refusal is one
   */
  lastHeard: z.optional(Instant),
  /**
   * Where the counts of the last counted sweep end, in milliseconds since the epoch. @default a first sweep, which
   * counts nothing
   */
  countedTo: z.optional(Instant),
  /** Why to decide without writing: the facts about the cluster contradict each other. */
  holdWrites: z.optional(text(1_000)),
  /**
   * The API server that the last sweep found in a kubeconfig. Nothing is written to another one until the fleet knows
   * it too.
   */
  server: z.optional(Server),
  /** What the names of its API endpoint resolved to in the last 30 days: never approved for a worker. */
  endpointAddresses: lossy(Addresses),
  /** A certificate of its API server that expired before this has been replaced since. @default unknown */
  replacedBefore: z.optional(Instant),
  /** Look for the workload clusters of this management cluster too. */
  workloadClusters: Flag,
  /** Audit it too, in the time that the sweep leaves. */
  audit: z.optional(AuditDue),
  /** Take the next step of its rollout, or check whether one is due, in the time that sweep and audit leave. */
  rollout: Flag,
  /** From a hint between two ticks: counts no CSRs, and is dropped when late, so that hints never keep a shard from its ticks. */
  hinted: Flag,
});
export type Order = Contract<typeof Order>;

/** What is due, and how far it may read, besides the handshakes that the lane allows anyway. */
export interface OrderedAudit extends AuditDue {
  readonly secrets: boolean;
  readonly kubeletMetrics: boolean;
}

/** An order with everything that fleet.yaml says about its cluster. */
export interface SweepOrder extends Omit<Order, 'id' | 'facts' | 'replacedBefore' | 'workloadClusters' | 'audit'> {
  readonly target: Target;
  /** Look for the workload clusters of this management cluster too, in these namespaces. */
  readonly lookForClusters?: readonly string[] | undefined;
  /** The lane reaches the machines of the cluster, so TLS handshakes are tried, in an audit and in a rollout. */
  readonly handshakes?: true | undefined;
  readonly audit?: OrderedAudit | undefined;
  /** Tolerate an expired certificate of its API server with this proof. */
  readonly expiredServer?: ExpiredServer | undefined;
}

const MESSAGE_VERSION = 4;
/** Twice what dispatch sends. */
const MAX_ORDERS = 100;
const Message = z.object({
  version: z.literal(MESSAGE_VERSION),
  orders: list(z.unknown(), MAX_ORDERS),
});

/** The body of the SQS message that asks for sweeps of the clusters of one shard. */
export function encodeOrders(orders: readonly Order[]): string {
  return JSON.stringify({ version: MESSAGE_VERSION, orders });
}

/** An order or its problem; `id` is that of the cluster, if readable. */
export type OrderReading = Reading<Order> & { readonly id?: string };

const Named = z.object({ id: ClusterId });

/**
 * Reads the body of an SQS message, each order separately. Never throws: an invalid order becomes a problem with the
 * wrong field and nothing of its content. Unknown fields are dropped. Two orders for one cluster are both rejected:
 * dispatch writes one.
 */
export function decodeOrders(body: string): Reading<readonly OrderReading[]> {
  const message = readJson(Message, body, MAX_MESSAGE_SIZE);
  if (!message.ok) return message;
  const readings = message.value.orders.map((value): OrderReading => {
    const named = read(Named, value);
    const order = read(Order, value, 'the order');
    return named.ok ? { ...order, id: named.value.id } : order;
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
 * The deduplication id: the queue drops a second message with it within five minutes.
 *
 * @param name of a shard or a cluster
 * @param occasion why it is swept: a tick, or the interval of a hint
 */
export function deduplicationIdOf(name: string, occasion: string): string {
  return createHash('sha256')
    .update(JSON.stringify([name, occasion]))
    .digest('hex');
}
