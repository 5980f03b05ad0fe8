import type { SQSEvent, SQSRecord } from 'aws-lambda';
import type { SweepCluster, SweptOrder } from '../cluster/minute.ts';
import { decodeOrders, type Order, type SweepOrder } from '../contracts/order.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { CompleteOrder } from '../fleet/fits-fleet.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import {
  logFailed,
  recordAudit,
  recordFailed,
  recordJournal,
  recordSweep,
  recordUnusable,
} from '../telemetry/record-sweep.ts';
import { count } from '../telemetry/telemetry.ts';
import { createOutcomeSender, type OutcomeSender, type OutcomeSenderOptions } from './outcome-sender.ts';

export interface SweepShardOptions extends OutcomeSenderOptions {
  /** What is swept: an order does not say how its cluster is entered. */
  readonly complete: CompleteOrder;
  readonly sweepOne: SweepCluster;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Sweeps the clusters of one shard concurrently. Never rejects: the message is always acknowledged, and the next minute
 * is the retry.
 *
 * @param signal ends the sweeps
 * @param last ends what follows them: outcomes are still sent after the sweeps were told to end
 */
export type SweepShard = (event: SQSEvent, signal: AbortSignal, last: AbortSignal) => Promise<void>;

/** Older orders of hints are dropped: the next tick or hint is soon. Milliseconds. */
const LATE_HINT_MS = 10_000;

const UNREADABLE_REMEDY =
  'Only dispatch and hint write to this queue: find out who else does, or deploy all functions together.';

export function createSweepShard({
  sweepOne,
  complete,
  clock,
  send,
  wait,
  ...telemetry
}: SweepShardOptions): SweepShard {
  return async ({ Records: records }, signal, last) => {
    const outcomes = createOutcomeSender({ send, wait, ...telemetry }, { hurry: signal, last });
    const orders = records.flatMap((record) => ordersOf(record, outcomes));
    await Promise.all(orders.map(async (order) => sweepAndReport(order, outcomes, signal)));
    await outcomes.flush();
  };

  /** An unreadable or rejected order becomes an outcome of the cluster it names. */
  function ordersOf(record: SQSRecord, outcomes: OutcomeSender): readonly SweepOrder[] {
    const { messageId, body, attributes } = record;
    if (isLate(record)) {
      telemetry.logger.error('shard not swept again', {
        shard: attributes.MessageGroupId,
        problem: 'Lambda ended the invocation that swept it, for its memory or its time',
        remedy:
          'Nothing: dispatch separates its clusters until the cause is alone, and every other one is swept again. Then check that cluster.',
      });
      return [];
    }
    const read = decodeOrders(body);
    if (!read.ok) {
      drop(messageId, read.problem, UNREADABLE_REMEDY);
      return [];
    }
    return read.value.flatMap((reading) => {
      if (reading.ok && isLateHint(reading.value)) return [];
      const completed: ReturnType<CompleteOrder> = reading.ok
        ? complete(reading.value, clock())
        : { ok: false, problem: unreadable(reading.id, reading.problem) };
      if (completed.ok) return [completed.value];
      const { problem } = completed;
      drop(messageId, problem.message, problem.remedy);
      if (reading.id !== undefined) outcomes.add(untried(reading.id, problem, clock()));
      return [];
    });
  }

  /** A duplicate. The order of the next minute waits behind it. */
  function isLate({ attributes }: SQSRecord): boolean {
    const age = clock() - Number(attributes.SentTimestamp);
    return Number(attributes.ApproximateReceiveCount) > 1 && age > HUB_SIZES.tickSeconds * 1_000;
  }

  /** Bounds how long the hints of one cluster can delay its neighbours. */
  function isLateHint({ hinted, tick }: Order): boolean {
    return hinted === true && clock() - tick > LATE_HINT_MS;
  }

  function drop(messageId: string, problem: string, remedy: string): void {
    count(telemetry.metrics, { [METRIC.messagesUnreadable]: 1 });
    telemetry.logger.error('message dropped', { messageId, problem, remedy });
  }

  async function sweepAndReport(order: SweepOrder, outcomes: OutcomeSender, signal: AbortSignal): Promise<void> {
    const swept = await sweepOne(order, signal);
    recordSwept(swept);
    outcomes.add(swept.outcome);
  }

  function recordSwept({ outcome, report, failures, journaled }: SweptOrder): void {
    const { id, startedAt, durationMs, problems, audit } = outcome;
    const [problem] = problems;
    const failed = failures.find(({ stage }) => stage === 'approval');
    if (report !== undefined) {
      recordSweep(report, telemetry, id);
      if (failed !== undefined) logFailed(id, failed.error, durationMs, telemetry);
    } else if (failed !== undefined) recordFailed(id, failed.error, durationMs, telemetry);
    else if (problem !== undefined) recordUnusable(id, problem, durationMs, telemetry);
    if (audit !== undefined && audit.auditedAt >= startedAt) recordAudit(audit, telemetry, id);
    // A bug; earlier approvals stand.
    for (const { stage, error } of failures)
      if (stage !== 'approval') telemetry.logger.error(`${stage} failed`, { id, error });
    for (const one of journaled) recordJournal(one, telemetry, id);
  }
}

function unreadable(id: string | undefined, message: string): Problem {
  return { kind: 'message', object: `cluster ${id ?? 'of an order'}`, message, remedy: UNREADABLE_REMEDY };
}

/** The outcome of a cluster whose order is skipped. */
function untried(id: string, problem: Problem, now: number): SweepOutcome {
  return {
    version: 1,
    kind: 'sweep',
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
