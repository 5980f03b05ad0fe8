import * as z from 'zod/mini';
import { LANE_NAME } from '../identifiers.ts';
import { type Contract, list, lossy, matching, type Reading, read, text } from './contract.ts';
import { EksAccess, type Target, VpcId } from './target.ts';
import { Addresses, Cidrs, ClusterId, Count, Flag, Instant, Server } from './values.ts';

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
  /** The minute that it was planned for, in milliseconds since the epoch. */
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
  /** By a webhook, between two ticks: it counts no CSRs. */
  readonly byWebhook?: true | undefined;
}

/** Clusters of one shard: most that one sweep sweeps. */
export const SHARD_SIZE = 64;
/** Most shards of one object with orders. */
export const SHARDS_AN_OBJECT = 8;

/** One sweep of several clusters, as Step Functions passes it: names, never content. */
const SweepItem = z.object({
  /** Name of the sweep function of the lane. */
  function: text(200),
  lane: matching(LANE_NAME, 'the name of a lane'),
  /** Milliseconds since the epoch, a whole minute. */
  tick: Instant,
  /** Number of the object with its orders, in the lane and tick. */
  object: Count,
  /** Its number, in the lane and tick. */
  shard: Count,
});
export type SweepItem = Contract<typeof SweepItem>;

/** The orders of some shards of one lane and tick. */
const Orders = z.object({
  version: z.literal(5),
  lane: SweepItem.shape.lane,
  tick: Instant,
  shards: list(z.object({ shard: Count, orders: list(z.unknown(), SHARD_SIZE) }), SHARDS_AN_OBJECT),
});
export type Orders = Contract<typeof Orders>;

/** Reads what Step Functions passes. Never throws. */
export function readItem(value: unknown): Reading<SweepItem> {
  return read(SweepItem, value, 'the item');
}

/** An order or its problem; `id` is that of the cluster, if readable. */
export type OrderReading = Reading<Order> & { readonly id?: string };

const Named = z.object({ id: ClusterId });

/**
 * Reads an object with orders of this lane, each order separately. Never throws: an invalid order becomes a problem with
 * the wrong field and nothing of its content.
 *
 * @param only the shard whose orders are read. @default each
 * @returns the orders by shard
 */
export function readOrders(
  value: unknown,
  lane: string,
  only?: number,
): Reading<ReadonlyMap<number, readonly OrderReading[]>> {
  const orders = read(Orders, value, 'the object');
  if (!orders.ok) return orders;
  if (orders.value.lane !== lane) return { ok: false, problem: `it is of lane ${orders.value.lane}` };
  const shards = orders.value.shards.filter(({ shard }) => only === undefined || shard === only);
  return { ok: true, value: new Map(shards.map(({ shard, orders: some }) => [shard, some.map(readOrder)])) };
}

function readOrder(value: unknown): OrderReading {
  const named = read(Named, value);
  const order = read(Order, value, 'the order');
  return named.ok ? { ...order, id: named.value.id } : order;
}
