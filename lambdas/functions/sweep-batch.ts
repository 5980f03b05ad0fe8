import { setTimeout as delay } from 'node:timers/promises';
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { SweepCluster, SweptOrder } from '../cluster/minute.ts';
import { decodeOrder, groupOf, type SweepOrder } from '../contracts/order.ts';
import type { Problem } from '../contracts/problem.ts';
import { combinedOrder } from '../fleet/combined-order.ts';
import { isDoubtful } from '../fleet/deadlines.ts';
import type { OrderRefusal } from '../fleet/fits-fleet.ts';
import { printable } from '../printable.ts';
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

export interface SweepBatchOptions extends OutcomeSenderOptions {
  /** Which orders are not carried out. */
  readonly refusal: OrderRefusal;
  readonly sweepOne: SweepCluster;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Carries out the orders of one batch, all at once but for those of doubtful clusters: these wait for the others.
 *
 * @param signal ends the sweeps
 * @param last ends what follows them: the outcomes are still to be sent when the sweeps were told to end
 */
export type SweepBatch = (
  event: SQSEvent,
  context: Context,
  signal: AbortSignal,
  last: AbortSignal,
) => Promise<SQSBatchResponse>;

const UNREADABLE_REMEDY =
  'Only dispatch and hint write to this queue: find out who else does, or deploy all functions together.';

/** How long a doubtful cluster waits for the others of its batch. Milliseconds. */
const MAX_WAIT_MS = 3_000;

type ReadOrder = { readonly order: SweepOrder } | { readonly id: string; readonly problem: Problem };

/** What groupOf makes of an id of over 128 characters. */
const HASH = /^[0-9a-f]{64}$/;

/**
 * A message is acknowledged when it was acted upon, whatever came of it: an unreachable cluster is an outcome, and the next tick is
 * the retry. So is a message that cannot be read: it would not become readable. Only when certmarshal itself fails, or AWS does
 * not let it work, a message goes back to the queue, with the other messages of its group and none of another.
 */
export function createSweepBatch({
  sweepOne,
  refusal,
  clock,
  send,
  wait,
  ...telemetry
}: SweepBatchOptions): SweepBatch {
  return async (event, context, signal, last) => {
    const read = new Map(event.Records.map((record) => [record, readOrder(record)]));
    // A refused order takes no part in the sweep of the others of its cluster.
    const orders = [...read.values()].flatMap((one) => ('order' in one ? [one.order] : []));
    const outcomes = createOutcomeSender({ send, wait, ...telemetry }, { hurry: signal, last });
    const sweeps = sweepAll(Map.groupBy(orders, groupOfOrder), outcomes, signal);
    const handle = async (record: SQSRecord): Promise<void> => {
      const one = read.get(record) ?? readOrder(record);
      // All orders of one cluster in one batch share one sweep and its fate.
      if ('order' in one) await sweeps.get(groupOfOrder(one.order));
      else drop(record, one, outcomes);
    };
    try {
      return await processPartialResponse(event, handle, new BatchProcessor(EventType.SQS), {
        context,
        throwOnFullBatchFailure: false,
      });
    } finally {
      await outcomes.flush();
    }
  };

  /**
   * One sweep for each group. The batch shares one thread: clusters that hang, drip or lie are asked when the others have their approvals.
   * Those are not waited for long, because one that was well a minute ago may hang now.
   */
  function sweepAll(
    groups: ReadonlyMap<string, readonly SweepOrder[]>,
    outcomes: OutcomeSender,
    signal: AbortSignal,
  ): ReadonlyMap<string, Promise<void>> {
    const combined = [...groups].flatMap(([group, [first, ...others]]) =>
      first === undefined ? [] : [{ group, order: combinedOrder([first, ...others]) }],
    );
    const [ordinary = [], doubtful = []] = [false, true].map((doubt) =>
      combined.filter(({ order }) => isDoubtful(order) === doubt),
    );
    const sweeps = new Map(ordinary.map(({ group, order }) => [group, sweepAndReport(order, outcomes, signal)]));
    if (doubtful.length === 0) return sweeps;
    const turn = ended([...sweeps.values()], signal);
    for (const { group, order } of doubtful)
      sweeps.set(
        group,
        turn.then(async () => sweepAndReport(order, outcomes, signal)),
      );
    return sweeps;
  }

  async function sweepAndReport(order: SweepOrder, outcomes: OutcomeSender, signal: AbortSignal): Promise<void> {
    const swept = await sweepOne(order, signal);
    recordSwept(swept);
    outcomes.add(swept.outcome);
    const failed = swept.failures.find(({ stage }) => stage === 'approval');
    if (failed !== undefined)
      throw failed.error instanceof Error ? failed.error : new Error(`cluster ${swept.outcome.id}: sweep failed`);
  }

  function recordSwept({ outcome, report, failures, journaled }: SweptOrder): void {
    const { id, durationMs, problems } = outcome;
    const [problem] = problems;
    const failed = failures.find(({ stage }) => stage === 'approval');
    if (report !== undefined) {
      recordSweep(report, telemetry, id);
      if (failed !== undefined) logFailed(id, failed.error, durationMs, telemetry);
    } else if (failed !== undefined) recordFailed(id, failed.error, durationMs, telemetry);
    else if (problem !== undefined) recordUnusable(id, problem, durationMs, telemetry);
    if (outcome.audit !== undefined) recordAudit(outcome.audit, telemetry, id);
    // Bugs. The approvals before them are not touched by them.
    for (const { stage, error } of failures)
      if (stage !== 'approval') telemetry.logger.error(`${stage} failed`, { id, error });
    if (journaled !== undefined) recordJournal(journaled, telemetry, id);
  }

  /** What cannot be read becomes a finding of the cluster that its group names; what is refused, of the cluster that it names. */
  function readOrder({ body, messageId, attributes }: SQSRecord): ReadOrder {
    const read = decodeOrder(body);
    if (read.ok) {
      const problem = refusal(read.value, clock());
      return problem === undefined ? { order: read.value } : { id: read.value.target.id, problem };
    }
    const id = printable(attributes.MessageGroupId ?? messageId);
    // Only a hash is left of a long id; the registry tells whose it is.
    const object = HASH.test(id) ? `cluster whose id has the SHA-256 ${id}` : `cluster ${id}`;
    return { id, problem: { kind: 'message', object, message: read.problem, remedy: UNREADABLE_REMEDY } };
  }

  function drop(
    { messageId }: SQSRecord,
    { id, problem }: { readonly id: string; readonly problem: Problem },
    outcomes: OutcomeSender,
  ): void {
    const { message, remedy } = problem;
    count(telemetry.metrics, { [METRIC.messagesUnreadable]: 1 });
    telemetry.logger.error('message dropped', { messageId, problem: message, remedy });
    outcomes.add({
      version: 1,
      kind: 'sweep',
      id,
      startedAt: new Date(clock()).toISOString(),
      durationMs: 0,
      untried: true,
      readable: false,
      complete: false,
      problems: [problem],
      problemCount: 1,
    });
  }
}

function groupOfOrder({ target }: SweepOrder): string {
  return groupOf(target.id);
}

/** When all of them have ended, the wait is over, or no time is left. */
async function ended(sweeps: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const wait = delay(MAX_WAIT_MS, undefined, { signal: AbortSignal.any([signal, over.signal]) });
  await Promise.race([Promise.allSettled(sweeps), wait.catch(() => undefined)]);
  over.abort();
}
