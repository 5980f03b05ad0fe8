import { createHash } from 'node:crypto';
import { isConflict } from '../aws/errors.ts';
import { type OrderReading, readOrders, SHARD_SIZE, type SweepItem, type SweepOrder } from '../contracts/order.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import { SHORT_DEADLINE_MS, WEBHOOK_WAIT_MS } from '../fleet/deadlines.ts';
import type { CompleteOrder } from '../fleet/fits-fleet.ts';
import { outcomesObject, readOutcomes } from '../fleet/outcomes.ts';
import { ordersKey, ordersOf, outcomesKey } from '../fleet/state-keys.ts';
import { tickAt } from '../fleet/tick.ts';
import type { State } from '../state.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { recordAudit, recordJournal, recordSweep, recordUnread } from '../telemetry/record-sweep.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';
import { MINUTE_MS } from '../time.ts';
import type { SweepCluster, SweptOrder } from './minute.ts';

export interface SweepOptions extends Telemetry {
  readonly lane: string;
  readonly complete: CompleteOrder;
  readonly sweepOne: SweepCluster;
  readonly state: State;
  /** Waits before a sweep by webhook. @default nothing is waited for */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface Sweep {
  /**
   * The second third of a minute: sweeps the clusters of one shard at once, and writes their outcomes.
   *
   * @param signal ends the sweeps
   * @param last ends what follows them
   * @throws NotBegunError, and AwsError when the outcomes are not written: the next minute is the retry
   */
  shard(item: SweepItem, signal: AbortSignal, last: AbortSignal): Promise<void>;
  /** Sweeps one cluster between two ticks, by its newest order. Does nothing without one, or while its writes are held. */
  cluster(id: string, signal: AbortSignal): Promise<void>;
}

/** No cluster was entered, so none is suspected. Step Functions passes its name. */
export class NotBegunError extends Error {
  override readonly name = 'NotBegun';
}

/** A newer order repeats what older ones ask for. */
const TICKS = 3;

export function createSweep({ lane, complete, sweepOne, state, wait, clock, ...telemetry }: SweepOptions): Sweep {
  return {
    async shard(item, signal, last) {
      if (item.lane !== lane) throw new NotBegunError(`it is of lane ${item.lane}, and this is lane ${lane}`);
      const orders = (await ordersIn(ordersKey(lane, item.tick, item.object), signal, item.shard)).get(item.shard);
      if (orders === undefined) throw new NotBegunError(`the object has no shard ${item.shard}`);
      const outcomes = await Promise.all(orders.map(async (reading) => sweepOrder(reading, signal)));
      try {
        await state.put(
          outcomesKey(lane, item.tick, item.shard),
          outcomesObject(outcomes.flatMap((one) => one ?? [])),
          undefined,
          last,
        );
      } catch (error) {
        // Another execution of the same tick was faster.
        if (!isConflict(error)) throw error;
      }
    },

    async cluster(id, signal) {
      const order = await newestOrder(id, signal);
      if (order === undefined || order.holdWrites !== undefined) return;
      await wait?.(WEBHOOK_WAIT_MS, signal);
      const { audit: _, rollout: __, lookForClusters: ___, ...approval } = order;
      const hurried = { ...approval, deadlineMs: SHORT_DEADLINE_MS, byWebhook: true as const };
      const swept = await sweepOne(hurried, signal);
      recordSwept(swept);
      count(telemetry.metrics, { [METRIC.webhookSweeps]: 1 });
      const name = `webhook-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
      const key = outcomesKey(lane, tickAt(clock(), clock()), name);
      await append(key, { ...swept.outcome, byWebhook: true }, signal);
    },
  };

  /** Nodes ask together, so that one minute may have several sweeps of a cluster. */
  async function append(key: string, outcome: SweepOutcome, signal: AbortSignal): Promise<void> {
    const stored = await state.get(key, signal);
    const before = readOutcomes(stored?.value).flatMap((one) => (one.ok ? [one.value] : []));
    try {
      await state.put(key, outcomesObject(hostileFirst([outcome, ...before])), stored?.etag, signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      await append(key, outcome, signal);
    }
  }

  async function ordersIn(
    key: string,
    signal: AbortSignal,
    only?: number,
  ): Promise<ReadonlyMap<number, readonly OrderReading[]>> {
    const stored = await state.get(key, signal);
    const orders = readOrders(stored?.value, lane, only);
    if (orders.ok) return orders.value;
    throw new NotBegunError(`${key}: ${stored === undefined ? 'there is no such object' : orders.problem}`);
  }

  async function sweepOrder(reading: OrderReading, signal: AbortSignal): Promise<SweepOutcome | undefined> {
    const order: ReturnType<CompleteOrder> = reading.ok
      ? complete(reading.value, clock())
      : { ok: false, problem: unreadable(reading) };
    if (order.ok) {
      const swept = await sweepOne(order.value, signal);
      recordSwept(swept);
      return swept.outcome;
    }
    count(telemetry.metrics, { [METRIC.ordersRefused]: 1 });
    telemetry.logger.error('order refused', { problem: order.problem });
    return reading.id === undefined ? undefined : untried(reading.id, order.problem, clock());
  }

  function recordSwept({ outcome, report, failures, journaled }: SweptOrder): void {
    const { id, startedAt, durationMs, problems, audit } = outcome;
    if (report === undefined) recordUnread(id, problems[0], durationMs, telemetry);
    else recordSweep(report, telemetry, id);
    if (audit !== undefined && audit.auditedAt >= startedAt) recordAudit(audit, telemetry, id);
    // A bug; earlier approvals stand.
    for (const { stage, error } of failures) telemetry.logger.error(`${stage} failed`, { id, error });
    for (const one of journaled) recordJournal(one, telemetry, id);
  }

  async function newestOrder(id: string, signal: AbortSignal): Promise<SweepOrder | undefined> {
    const now = tickAt(clock(), clock());
    for (let tick = now; tick > now - TICKS * MINUTE_MS; tick -= MINUTE_MS)
      for (const key of await state.list(ordersOf(lane, tick), '', signal))
        for (const readings of (await ordersIn(key, signal)).values())
          for (const reading of readings)
            if ((reading.ok ? reading.value.id : reading.id) === id) {
              // An older one may not know that writes are held.
              const order = reading.ok ? complete(reading.value, clock()) : undefined;
              return order?.ok ? order.value : undefined;
            }
    return undefined;
  }
}

/** As many as an object holds: later sweeps must not push out what a node tried. */
function hostileFirst(outcomes: readonly SweepOutcome[]): readonly SweepOutcome[] {
  return outcomes.toSorted((a, b) => Number(isHostile(b)) - Number(isHostile(a))).slice(0, SHARD_SIZE);
}

function isHostile({ verdicts = [] }: SweepOutcome): boolean {
  return verdicts.some(({ hostile }) => hostile);
}

function unreadable({ id, ...reading }: OrderReading): Problem {
  return {
    kind: 'order',
    object: `cluster ${id ?? 'of an order'}`,
    message: reading.ok ? '' : reading.problem,
    remedy: 'Only plan writes orders: find out who else does, or deploy all functions together.',
  };
}

/** The outcome of a cluster whose order is refused. */
function untried(id: string, problem: Problem, now: number): SweepOutcome {
  return {
    id,
    startedAt: new Date(now).toISOString(),
    durationMs: 0,
    untried: true,
    readable: false,
    complete: false,
    problems: [problem],
    problemCount: 1,
  };
}
