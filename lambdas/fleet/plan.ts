import { isConflict } from '../aws/errors.ts';
import type { Fleet } from '../config/fleet.ts';
import { parseFleetIndex } from '../contracts/fleet-index.ts';
import { type Orders, SHARDS_AN_OBJECT, type SweepItem } from '../contracts/order.ts';
import { parseRegistry } from '../contracts/registry.ts';
import type { State } from '../state.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { fitRegistry, type TargetsOf } from './fits-fleet.ts';
import { planTick, type ShardOrders, type TickOptions } from './plan-tick.ts';
import { ordersKey, STATE_KEYS } from './state-keys.ts';

export interface PlanOptions extends Telemetry, Pick<TickOptions, 'auditNew'> {
  readonly fleet: Pick<Fleet, 'audit' | 'rollouts' | 'recovery'>;
  readonly targetsOf: TargetsOf;
  readonly state: State;
  /** By lane, the name of its sweep function. */
  readonly functions: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * The first third of a minute: gives every cluster what is due, by registry and index alone, and writes the orders. The
 * first one has no registry and plans nothing; nor does one whose tick another one has planned.
 *
 * @param tick the minute, in milliseconds since the epoch
 * @returns the sweeps to make
 * @throws AwsError when the state cannot be read or written
 */
export type Plan = (tick: number, signal: AbortSignal) => Promise<readonly SweepItem[]>;

export function createPlan({
  fleet,
  targetsOf,
  state,
  functions,
  clock,
  auditNew,
  logger,
  metrics,
}: PlanOptions): Plan {
  const options = {
    lanes: new Set(functions.keys()),
    auditEveryMinutes: fleet.audit.everyMinutes,
    auditNew,
    rollouts: fleet.rollouts.clusters,
    recovery: fleet.recovery,
  };

  return async (tick, signal) => {
    const [stored, indexed] = await Promise.all([
      state.get(STATE_KEYS.registry, signal),
      state.get(STATE_KEYS.index, signal),
    ]);
    const registry = parseRegistry(stored?.value, clock());
    const index = parseFleetIndex(indexed?.value, clock());
    const shards = registry === undefined ? [] : planTick(fitRegistry(registry, targetsOf), index, tick, options);
    const objects = objectsOf(shards, tick);
    if (!(await isWritten(objects, signal))) {
      logger.warn('tick planned twice', { tick, problem: 'another execution has planned it, so this one does not' });
      return [];
    }
    count(metrics, {
      [METRIC.dispatched]: shards.reduce((sum, { orders }) => sum + orders.length, 0),
      [METRIC.registered]: Object.keys(registry?.clusters ?? {}).length,
    });
    return objects.flatMap(({ number, content: { lane, shards: some } }) =>
      some.map(({ shard }) => ({ function: functions.get(lane) ?? '', lane, tick, object: number, shard })),
    );
  };

  /** The first object decides who plans the tick. */
  async function isWritten([first, ...others]: readonly OrdersObject[], signal: AbortSignal): Promise<boolean> {
    const put = async ({ number, content }: OrdersObject) =>
      state.put(ordersKey(content.lane, content.tick, number), content, undefined, signal);
    if (first === undefined) return true;
    try {
      await put(first);
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
    await Promise.all(others.map(put));
    return true;
  }
}

interface OrdersObject {
  readonly number: number;
  readonly content: Orders;
}

function objectsOf(shards: readonly ShardOrders[], tick: number): readonly OrdersObject[] {
  return [...Map.groupBy(shards, ({ lane }) => lane)].flatMap(([lane, ofLane]) =>
    Array.from({ length: Math.ceil(ofLane.length / SHARDS_AN_OBJECT) }, (_, number) => {
      const from = number * SHARDS_AN_OBJECT;
      const some = ofLane.slice(from, from + SHARDS_AN_OBJECT);
      const numbered = some.map(({ orders }, n) => ({ shard: from + n, orders }));
      return { number, content: { version: 5 as const, lane, tick, shards: numbered } };
    }),
  );
}
