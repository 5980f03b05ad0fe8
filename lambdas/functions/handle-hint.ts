import type { SQSEvent } from 'aws-lambda';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { policiesFor } from '../approval/selection.ts';
import type { JsonObject, JsonObjects } from '../aws/json-objects.ts';
import type { OrderMessage } from '../aws/queues.ts';
import { parseFleetIndex } from '../contracts/fleet-index.ts';
import { parseRegistry, type RegisteredCluster, type Registry } from '../contracts/registry.ts';
import { decodeWaitingHint, encodeWaitingHint, type WaitingHint } from '../contracts/waiting-hint.ts';
import { SHORT_DEADLINE_MS } from '../fleet/deadlines.ts';
import { createTargetsOf, type FleetOfTargets, fitRegistry } from '../fleet/fits-fleet.ts';
import { hintDue } from '../fleet/hints.ts';
import { planOrders } from '../fleet/plan-tick.ts';
import type { HubIdentity } from '../fleet/sources.ts';
import { STATE_KEYS } from '../fleet/state-keys.ts';
import { entryOf } from '../tables/keys.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { messagesByLane } from './lane-queues.ts';

/** Amazon SQS API Reference, SendMessage, DelaySeconds. */
const MAX_DELAY_SECONDS = 900;

export interface HintOptions extends Telemetry {
  readonly state: JsonObjects;
  readonly policies: readonly ApprovalPolicy[];
  /** What targets of the registry are fitted to. */
  readonly fleet: FleetOfTargets;
  /** The account and Region of this function. */
  readonly hub: HubIdentity;
  /** Queues a hint with a delay. */
  readonly wait: (body: string, delaySeconds: number, signal: AbortSignal) => Promise<void>;
  /** By lane. */
  readonly send: ReadonlyMap<string, (messages: readonly OrderMessage[], signal: AbortSignal) => Promise<void>>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Delays a hint until the policies allow its request to be judged, then turns it into an order like that of a tick.
 * Orders of one interval are deduplicated, so hints sweep a cluster at most once in three seconds; a sweep without
 * requests costs the cluster one LIST.
 *
 * @throws AwsError, UnsentOrdersError when a hint could not be queued; the hint is delivered again
 */
export type HandleHint = (event: SQSEvent, signal: AbortSignal) => Promise<void>;

export function createHintHandler(options: HintOptions): HandleHint {
  const { state, policies, fleet, hub, wait, send, clock, logger, metrics } = options;
  const targetsOf = createTargetsOf(fleet, hub);
  const registryOf = ofEachVersion((value) => {
    const registry = parseRegistry(value, clock());
    return registry && fitRegistry(registry, targetsOf);
  });
  const indexOf = ofEachVersion((value) => parseFleetIndex(value, clock()));
  const planOptions = {
    lanes: new Set(send.keys()),
    recovery: fleet.recovery,
  };

  return async ({ Records: records }, signal) => {
    const hints = records.flatMap(({ body }) => readWaiting(body) ?? []);
    if (hints.length === 0) return;
    const registry = registryOf(await state.read(STATE_KEYS.registry, signal));
    // Before the first discovery there is nothing to hint at.
    if (registry === undefined) return;
    const ripe: WaitingHint[] = [];
    for (const hint of new Map(hints.map((one) => [encodeWaitingHint(one), one])).values())
      if (await isRipe(hint, registry, signal)) ripe.push(hint);
    if (ripe.length === 0) return;
    const index = indexOf(await state.read(STATE_KEYS.index, signal));
    // The message group of the ticks: another group would allow a second sweep at the same time.
    const shardOf = (id: string) => entryOf(registry.clusters, id)?.shard?.name;
    // Only ticks order audits and rollouts.
    const { orders: placed } = planOrders(registry, index, clock(), shardOf, planOptions);
    const orders = new Map(placed.map((one) => [one.order.id, one]));
    for (const { id, due } of ripe) {
      const placedOrder = orders.get(id);
      if (placedOrder === undefined) continue;
      const { order, shard: name } = placedOrder;
      const { lane } = placedOrder.target;
      const shard = { name, lane, orders: [{ ...order, deadlineMs: SHORT_DEADLINE_MS, hinted: true as const }] };
      for (const [, messages] of messagesByLane([shard], `hint ${due} ${id}`)) await send.get(lane)?.(messages, signal);
      count(metrics, { [METRIC.hintedSweeps]: 1 });
    }
  };

  /** Seconds; undefined when no policy is for the cluster. */
  function youngestJudged({ target }: RegisteredCluster): number | undefined {
    if (target === undefined) return undefined;
    const { cluster } = target;
    const ages = policiesFor(policies, cluster).map(({ age }) => age[cluster.provider].minSeconds);
    return ages.length === 0 ? undefined : Math.min(...ages);
  }

  /** A fresh hint waits again where the policies judge the requests of its cluster later. */
  async function isRipe({ id, due, fresh }: WaitingHint, registry: Registry, signal: AbortSignal): Promise<boolean> {
    if (fresh === undefined) return true;
    const cluster = entryOf(registry.clusters, id);
    const minAge = cluster && youngestJudged(cluster);
    if (cluster === undefined || minAge === undefined) return false;
    count(metrics, { [METRIC.hints]: 1 });
    if (minAge === 0) return true;
    const judged = hintDue(due, minAge);
    const delay = Math.min(MAX_DELAY_SECONDS, Math.max(0, Math.ceil((judged - clock()) / 1000)));
    await wait(encodeWaitingHint({ id, due: judged }), delay, signal);
    return false;
  }

  function readWaiting(body: string): WaitingHint | undefined {
    const hint = decodeWaitingHint(body);
    if (hint.ok) return hint.value;
    count(metrics, { [METRIC.messagesUnreadable]: 1 });
    logger.error('message dropped', {
      problem: hint.problem,
      remedy: 'Only webhook and hint write to this queue: find out who else does.',
    });
    return undefined;
  }
}

/**
 * Parses each version of an object once. Hints arrive every three seconds, and validating an object of 10,000 clusters
 * takes several times as long as downloading it. The registry changes every few minutes, the index every minute.
 */
function ofEachVersion<T>(make: (value: unknown) => T | undefined): (stored: JsonObject | undefined) => T | undefined {
  let last: { readonly etag: string; readonly made: T | undefined } | undefined;
  return (stored) => {
    if (stored === undefined) return undefined;
    const { etag, value } = stored;
    if (last?.etag !== etag) last = { etag, made: make(value) };
    return last.made;
  };
}
