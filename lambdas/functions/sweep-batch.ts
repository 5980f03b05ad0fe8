import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { SweepOneTarget } from '../fleet/sweep-target.ts';
import { decodeTarget, type Target } from '../fleet/target.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { recordFailed, recordSweep, recordUnusable, type Telemetry } from '../telemetry/record-sweep.ts';

export interface SweepBatchOptions extends Telemetry {
  readonly sweepOne: SweepOneTarget;
}

/** Sweeps the clusters of one batch, all at once. */
export type SweepBatch = (event: SQSEvent, context: Context, signal: AbortSignal) => Promise<SQSBatchResponse>;

/**
 * A message is acknowledged when it was acted upon, whatever came of it: an unreachable cluster is an outcome, and the next tick is
 * the retry. So is a message that cannot be read: it would not become readable. Only when certmarshal itself fails, or AWS does
 * not let it work, a message goes back to the queue, with the other messages of its group and none of another.
 */
export function createSweepBatch({ sweepOne, ...telemetry }: SweepBatchOptions): SweepBatch {
  return async (event, context, signal) => {
    const groups = new Map<string, Promise<void>>();
    const handle = async (record: SQSRecord): Promise<void> => {
      const target = targetOf(record);
      if (target === undefined) return;
      // Two ticks of one cluster in one batch ask for the same: they share one sweep and its fate.
      const group = target.cluster.name;
      const running = groups.get(group) ?? sweepAndRecord(target, signal);
      groups.set(group, running);
      await running;
    };
    return processPartialResponse(event, handle, new BatchProcessor(EventType.SQS), {
      context,
      throwOnFullBatchFailure: false,
    });
  };

  function targetOf({ messageId, body }: SQSRecord): Target | undefined {
    const decoded = decodeTarget(body);
    if (decoded.ok) return decoded.target;
    telemetry.metrics.addMetric(METRIC.messagesUnreadable, MetricUnit.Count, 1);
    telemetry.logger.error('message dropped', {
      messageId,
      problem: decoded.problem,
      remedy: 'Only dispatch writes to this queue: find out who else does, or deploy dispatch and sweep together.',
    });
    return undefined;
  }

  async function sweepAndRecord(target: Target, signal: AbortSignal): Promise<void> {
    const cluster = target.cluster.name;
    const startedAt = performance.now();
    const durationMs = () => Math.round(performance.now() - startedAt);
    try {
      const outcome = await sweepOne(target, signal);
      if (outcome.kind === 'swept') recordSweep(outcome.report, telemetry);
      else recordUnusable(cluster, outcome.problem, durationMs(), telemetry);
    } catch (error) {
      recordFailed(cluster, error, durationMs(), telemetry);
      throw error;
    }
  }
}
