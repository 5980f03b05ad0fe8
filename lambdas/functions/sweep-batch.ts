import { setTimeout as delay } from 'node:timers/promises';
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { combinedOrder } from '../fleet/combined-order.ts';
import { isDoubtful } from '../fleet/deadlines.ts';
import { decodeOrder, groupOf, type SweepOrder } from '../fleet/order.ts';
import type { SweepOneTarget, SweptOrder } from '../fleet/sweep-target.ts';
import { printable } from '../printable.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { recordAudit, recordFailedAudit } from '../telemetry/record-audit.ts';
import { recordJournal } from '../telemetry/record-journal.ts';
import { logFailed, recordFailed, recordSweep, recordUnusable } from '../telemetry/record-sweep.ts';
import { createOutcomeSender, type OutcomeSender, type OutcomeSenderOptions } from './outcome-sender.ts';

export interface SweepBatchOptions extends OutcomeSenderOptions {
  readonly sweepOne: SweepOneTarget;
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
const LONGEST_WAIT_MS = 3_000;

/** What groupOf makes of an id of over 128 characters. */
const HASH = /^[0-9a-f]{64}$/;

/**
 * A message is acknowledged when it was acted upon, whatever came of it: an unreachable cluster is an outcome, and the next tick is
 * the retry. So is a message that cannot be read: it would not become readable. Only when certmarshal itself fails, or AWS does
 * not let it work, a message goes back to the queue, with the other messages of its group and none of another.
 */
export function createSweepBatch({ sweepOne, clock, send, wait, ...telemetry }: SweepBatchOptions): SweepBatch {
  return async (event, context, signal, last) => {
    const decoded = new Map(event.Records.map(({ body }) => [body, decodeOrder(body)]));
    const orders = [...decoded.values()].flatMap((read) => (read.ok ? [read.order] : []));
    const outcomes = createOutcomeSender({ send, wait, ...telemetry }, { hurry: signal, last });
    const sweeps = sweepAll(Map.groupBy(orders, groupOfOrder), outcomes, signal);
    const handle = async (record: SQSRecord): Promise<void> => {
      const read = decoded.get(record.body) ?? decodeOrder(record.body);
      if (!read.ok) {
        drop(record, read.problem, outcomes);
        return;
      }
      // All orders of one cluster in one batch share one sweep and its fate.
      await sweeps.get(groupOfOrder(read.order));
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
    count(swept);
    outcomes.add(swept.outcome);
    if (swept.retry)
      throw swept.error instanceof Error ? swept.error : new Error(`cluster ${swept.outcome.id}: sweep failed`);
  }

  function count({
    outcome,
    report: swept,
    retry,
    error,
    auditError,
    recoveryError,
    rolloutError,
    journaled,
  }: SweptOrder): void {
    const { id, durationMs, problems } = outcome;
    const [problem] = problems;
    if (swept !== undefined) {
      recordSweep(swept, telemetry, id);
      if (retry) logFailed(id, error, durationMs, telemetry);
    } else if (retry) recordFailed(id, error, durationMs, telemetry);
    else if (problem !== undefined) recordUnusable(id, problem, durationMs, telemetry);
    if (outcome.audit !== undefined) recordAudit(outcome.audit, telemetry, id);
    if (auditError !== undefined) recordFailedAudit(id, auditError, telemetry);
    // Bugs. The sweep before them is not touched by them.
    if (recoveryError !== undefined) telemetry.logger.error('recovery failed', { id, error: recoveryError });
    if (rolloutError !== undefined) telemetry.logger.error('rollout failed', { id, error: rolloutError });
    if (journaled !== undefined) recordJournal(journaled, telemetry, id);
  }

  /** What cannot be read becomes a finding of the cluster that its group names. */
  function drop({ messageId, attributes }: SQSRecord, problem: string, outcomes: OutcomeSender): void {
    telemetry.metrics.addMetric(METRIC.messagesUnreadable, MetricUnit.Count, 1);
    telemetry.logger.error('message dropped', { messageId, problem, remedy: UNREADABLE_REMEDY });
    const id = printable(attributes.MessageGroupId ?? messageId);
    // Only a hash is left of a long id; the registry tells whose it is.
    const object = HASH.test(id) ? `cluster whose id has the SHA-256 ${id}` : `cluster ${id}`;
    outcomes.add({
      version: 1,
      kind: 'sweep',
      id,
      startedAt: new Date(clock()).toISOString(),
      durationMs: 0,
      untried: true,
      readable: false,
      complete: false,
      problems: [{ kind: 'message', object, message: problem, remedy: UNREADABLE_REMEDY }],
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
  const wait = delay(LONGEST_WAIT_MS, undefined, { signal: AbortSignal.any([signal, over.signal]) });
  await Promise.race([Promise.allSettled(sweeps), wait.catch(() => undefined)]);
  over.abort();
}
