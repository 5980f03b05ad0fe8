import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError } from '../aws/errors.ts';
import type { JsonObjects } from '../aws/json-objects.ts';
import { type OrderMessage, UnsentOrdersError } from '../aws/queues.ts';
import type { Fleet } from '../config/fleet.ts';
import { type FleetIndex, parseFleetIndex } from '../contracts/fleet-index.ts';
import type { DispatchOutcome } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import { parseRegistry, type Registry } from '../contracts/registry.ts';
import { encodeReportStart } from '../contracts/report-start.ts';
import type { HubIdentity, SourceResult } from '../fleet/discover.ts';
import { endpointAddressesOf } from '../fleet/endpoint-addresses.ts';
import { createTargetsOf, fitRegistry } from '../fleet/fits-fleet.ts';
import { foundBefore } from '../fleet/found-before.ts';
import { listedClusters } from '../fleet/listed-clusters.ts';
import { encodeOutcome, encodeOutcomes } from '../fleet/outcome-message.ts';
import { planTick, type ShardOrders, type TickPlan } from '../fleet/plan-tick.ts';
import { SHARED_TOKEN } from '../fleet/shared-tokens.ts';
import { eksSources, sourcesOf } from '../fleet/sources.ts';
import { STATE_KEYS, type StateObject } from '../fleet/state-keys.ts';
import { dueSources, updateRegistry } from '../fleet/update-registry.ts';
import { workloadClusters } from '../fleet/workload-clusters.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { entryOf } from '../tables/keys.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { messagesByLane } from './lane-queues.ts';
import { logRebuilt } from './log-rebuilt.ts';

export interface DispatchOptions extends Telemetry {
  readonly fleet: Fleet;
  readonly hub: HubIdentity;
  readonly state: JsonObjects;
  /**
   * Lists the EKS clusters of each source and yields each result as it arrives; sources without time left are
   * `unfinished`.
   */
  readonly discover: (
    sources: readonly string[],
    previous: Registry | undefined,
    signal: AbortSignal,
  ) => AsyncIterable<SourceResult>;
  /** By lane. @throws UnsentOrdersError */
  readonly send: ReadonlyMap<string, (messages: readonly OrderMessage[], signal: AbortSignal) => Promise<void>>;
  /** @throws AwsError */
  readonly sendStart: (body: string, delay: { readonly delaySeconds: number }, signal: AbortSignal) => Promise<void>;
  /** @throws AwsError */
  readonly sendOutcome: (body: string, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Problems that fire no alarm: the cluster is being created or deleted, is gone (the registry says so for two weeks),
 * or shares its name, and so its token, with another one.
 */
const ON_PURPOSE: ReadonlySet<string> = new Set(['passing', 'missing', SHARED_TOKEN]);

interface Sent {
  /** Clusters whose orders are in their queues. */
  readonly count: number;
  /** One for each lane with unsent orders. */
  readonly errors: readonly Error[];
  readonly assigned: TickPlan['assigned'];
}

/** In the log; the outcome has all problems. */
const LOGGED_PROBLEMS = 20;

export interface TickSignals {
  /** Ends the discovery, early enough for what follows it. */
  readonly discovery: AbortSignal;
  /** Ends everything. */
  readonly all: AbortSignal;
}

/**
 * One tick: sends orders for every known cluster, then discovers clusters in the time left.
 *
 * @param tick the minute, in milliseconds since the epoch
 * @throws Error when an order is not in its queue. Any other failure is a problem of the outcome.
 */
export type DispatchTick = (tick: number, signals: TickSignals) => Promise<void>;

interface Read<T> {
  /** Absent if there is no object, and if it is unreadable: then it has an etag. */
  readonly value?: T;
  readonly etag?: string;
  /** S3 failed: the object is unknown and must not be written. */
  readonly unknown?: true;
}

/**
 * Clusters come from the registry of earlier ticks. Sources that cost nothing are read at every tick: the clusters
 * listed in `fleet.yaml` and those that sweeps of management clusters found. So a listed cluster is swept even when S3
 * fails.
 */
export function createDispatchTick(options: DispatchOptions): DispatchTick {
  const { fleet, hub, state, clock, logger, metrics } = options;
  const asked = sourcesOf(fleet, hub);
  const targetsOf = createTargetsOf(fleet, hub);
  const eks = eksSources(fleet.discovery, hub).map(({ name }) => name);
  const tickOptions = {
    lanes: new Set(options.send.keys()),
    auditEveryMinutes: fleet.audit.everyMinutes,
    rollouts: fleet.rollouts.clusters,
    recovery: fleet.recovery,
  };

  return async (tick, signals) => {
    const startedAt = clock();
    const problems: Problem[] = [];
    const started = startReport(tick, problems, signals.all);
    const readRegistry = (value: unknown): Registry | undefined => {
      const registry = parseRegistry(value, startedAt);
      return registry && fitRegistry(registry, targetsOf);
    };
    const [stored, index] = await Promise.all([
      read('registry', readRegistry, problems, signals.all),
      read('index', (value) => parseFleetIndex(value, startedAt), problems, signals.all),
    ]);
    const free = [listedClusters(fleet), ...workloadClusters(fleet, index.value, stored.value)];
    const update = (results: readonly SourceResult[], now: number): Registry =>
      foundBefore(updateRegistry(stored.value, results, now, asked), index.value, now);
    const updated = update(free, startedAt);
    const sendAll = async (registry: Registry): Promise<Sent> => {
      const plan = planTick(registry, index.value, tick, tickOptions);
      problems.push(...plan.problems);
      return { ...(await send(plan.shards, tick, problems, signals.all)), assigned: plan.assigned };
    };
    const look = async (): Promise<Registry> => {
      const found = await discover(stored.value, startedAt, problems, signals.discovery);
      return update([...free, ...found], clock());
    };

    let registry = updated;
    let sent: Sent;
    if (stored.unknown) sent = await sendAll(updated);
    else if (stored.value === undefined) {
      // The first discovery: without a registry there are no orders to send first.
      registry = await look();
      sent = await sendAll(registry);
    } else {
      sent = await sendAll(updated);
      registry = await look();
    }
    // Writing a registry that was not read would forget every cluster.
    if (!stored.unknown)
      await write(withFacts(registry, sent.assigned, index.value, startedAt), stored, problems, signals.all);

    await started;
    problems.push(...Object.values(registry.sources).flatMap(({ problem }) => problem ?? []));
    const registered = Object.keys(registry.clusters).length;
    const dispatched = sent.count;
    const unwanted = problems.filter(({ kind }) => !ON_PURPOSE.has(kind));
    count(metrics, {
      [METRIC.dispatched]: dispatched,
      [METRIC.registered]: registered,
      [METRIC.discoveryProblems]: unwanted.length,
    });
    const startedText = new Date(startedAt).toISOString();
    await tell({ version: 1, kind: 'dispatch', startedAt: startedText, registered, dispatched, problems }, signals.all);
    logger[problems.length > 0 ? 'warn' : 'info']('dispatched', {
      tick: new Date(tick).toISOString(),
      registered,
      dispatched,
      problems: problems.length === 0 ? undefined : problems.slice(0, LOGGED_PROBLEMS),
      problemCount: problems.length === 0 ? undefined : problems.length,
    });
    if (sent.errors.length > 0)
      throw new AggregateError(sent.errors, sent.errors.map(({ message }) => message).join('; '));
  };

  async function read<T>(
    object: StateObject,
    parse: (value: unknown) => T | undefined,
    problems: Problem[],
    signal: AbortSignal,
  ): Promise<Read<T>> {
    try {
      const found = await state.read(STATE_KEYS[object], signal);
      if (found === undefined) return {};
      const value = parse(found.value);
      if (value === undefined) problems.push(damaged(object));
      return { value, etag: found.etag };
    } catch (error) {
      problems.push(awsProblem(STATE_KEYS[object], error));
      return { unknown: true };
    }
  }

  async function write(
    registry: Registry,
    { etag, value }: Read<Registry>,
    problems: Problem[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await state.write(STATE_KEYS.registry, registry, etag, signal);
      if (etag !== undefined && value === undefined) logRebuilt('registry', logger);
    } catch (error) {
      // Another dispatch wrote first. Its registry is as good; the next tick finds again what only this run found.
      if (error instanceof AwsError && error.kind === 'conflict') logger.info('another dispatch wrote the registry');
      else problems.push(awsProblem(STATE_KEYS.registry, error));
    }
  }

  /** Skips sources that are not due. */
  async function discover(
    previous: Registry | undefined,
    now: number,
    problems: Problem[],
    signal: AbortSignal,
  ): Promise<readonly SourceResult[]> {
    const due = dueSources(previous, eks, now);
    const results: SourceResult[] = [];
    try {
      if (due.length > 0) for await (const result of options.discover(due, previous, signal)) results.push(result);
    } catch (error) {
      problems.push(awsProblem('discovery', error));
    }
    return results;
  }

  async function send(
    shards: readonly ShardOrders[],
    tick: number,
    problems: Problem[],
    signal: AbortSignal,
  ): Promise<Omit<Sent, 'assigned'>> {
    const errors: Error[] = [];
    let sent = 0;
    const sendTo = async (lane: string, messages: readonly OrderMessage[]): Promise<void> => {
      try {
        await options.send.get(lane)?.(messages, signal);
        sent += messages.reduce((sum, { clusters }) => sum + clusters, 0);
      } catch (error) {
        if (error instanceof UnsentOrdersError) sent += error.sent;
        problems.push(unsentProblem(lane, error));
        errors.push(error instanceof Error ? error : new Error(String(error)));
      }
    };
    await Promise.all(
      [...messagesByLane(shards, String(tick))].map(async ([lane, messages]) => sendTo(lane, messages)),
    );
    return { count: sent, errors };
  }

  /**
   * Starts report once the sweeps of the tick have had their time. Never fails the tick: the next report folds the same
   * outcomes.
   */
  async function startReport(tick: number, problems: Problem[], signal: AbortSignal): Promise<void> {
    const { delaySeconds } = HUB_SIZES.report;
    try {
      await options.sendStart(encodeReportStart({ tick }), { delaySeconds }, signal);
    } catch (error) {
      problems.push(awsProblem('report', error));
    }
  }

  /** Never fails the tick: the next tick sends the same. An alarm fires after some minutes without outcomes. */
  async function tell(outcome: DispatchOutcome, signal: AbortSignal): Promise<void> {
    try {
      await options.sendOutcome(encodeOutcomes([encodeOutcome(outcome)]), signal);
    } catch (error) {
      logger.error('outcome not sent', { problem: awsProblem('outcomes', error) });
    }
  }
}

/** No outcome is expected from a cluster without an order in this tick. */
function withFacts(
  registry: Registry,
  assigned: TickPlan['assigned'],
  index: FleetIndex | undefined,
  now: number,
): Registry {
  const clusters = Object.entries(registry.clusters).map(([id, cluster]) => [
    id,
    {
      ...cluster,
      endpointAddresses: endpointAddressesOf(cluster, entryOf(index?.clusters, id), now),
      shard: assigned.get(id),
    },
  ]);
  return { ...registry, clusters: Object.fromEntries(clusters) };
}

function damaged(object: StateObject): Problem {
  return {
    kind: 'invalid',
    object: STATE_KEYS[object],
    message: 'it is not what certmarshal wrote there',
    remedy: 'Nothing: it is rebuilt. Find out who else writes to the bucket.',
  };
}

function unsentProblem(lane: string, error: unknown): Problem {
  if (!(error instanceof UnsentOrdersError)) return awsProblem(`lane ${lane}`, error);
  return { kind: 'unsent', object: `lane ${lane}`, message: error.message, remedy: error.remedy };
}
