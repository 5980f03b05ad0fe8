import { setTimeout as delay } from 'node:timers/promises';
import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { createSecretReader } from '../aws/kubeconfig-secret.ts';
import { createTargetSweeper } from '../fleet/sweep-target.ts';
import { decodeTarget, type Target } from '../fleet/target.ts';
import { createLogger } from '../telemetry/logger.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { recordFailed, recordSweep, recordUnusable } from '../telemetry/record-sweep.ts';
import { readBesideBundle } from './beside-bundle.ts';

/** Sweeps end this long before the function does: long enough to report what was done, and what was not. */
const WRAP_UP_MS = 10_000;
/** Of that, how long the sweeps have to notice. */
const GRACE_MS = 8_000;

const logger = createLogger('sweep');
const metrics = createMetrics('sweep');
const sweepOne = createTargetSweeper({
  readSecret: createSecretReader(),
  policies: readBesideBundle<readonly ApprovalPolicy[]>(import.meta.url, 'policies.json'),
  clock: Date.now,
});

/**
 * Sweeps the clusters of a batch at once.
 *
 * A message is acknowledged when it was acted upon, whatever came of it: an unreachable cluster is an outcome, and the next tick is
 * the retry. So is a message that cannot be read: it would not become readable. Only when certmarshal itself fails, or AWS does
 * not let it work, the message goes back, with all messages of its group and none of another.
 */
export const handler = middy<SQSEvent, SQSBatchResponse>({
  timeoutEarlyInMillis: WRAP_UP_MS,
  // The handler ends on its own when its signal aborts; middy must not answer in its place before that.
  timeoutEarlyResponse: async () => {
    await delay(GRACE_MS, undefined, { ref: false });
    throw new Error(`The sweeps did not end within ${GRACE_MS} ms of being told to.`);
  },
})
  .use(injectLambdaContext(logger))
  .use(logMetrics(metrics))
  .handler(async (event, context, { signal }) => {
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
  });

function targetOf({ messageId, body }: SQSRecord): Target | undefined {
  const decoded = decodeTarget(body);
  if (decoded.ok) return decoded.target;
  metrics.addMetric(METRIC.messagesUnreadable, MetricUnit.Count, 1);
  logger.error('message dropped', {
    messageId,
    problem: decoded.problem,
    remedy: 'Only dispatch should write to the queue: find out who else does, or deploy dispatch and sweep together.',
  });
  return undefined;
}

async function sweepAndRecord(target: Target, signal: AbortSignal): Promise<void> {
  const cluster = target.cluster.name;
  const startedAt = Date.now();
  try {
    const outcome = await sweepOne(target, signal);
    if (outcome.kind === 'swept') recordSweep(outcome.report, { logger, metrics });
    else recordUnusable(cluster, outcome.problem, Date.now() - startedAt, { logger, metrics });
  } catch (error) {
    recordFailed(cluster, error, Date.now() - startedAt, { logger, metrics });
    throw error;
  }
}
