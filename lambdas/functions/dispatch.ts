import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import { SQSClient } from '@aws-sdk/client-sqs';
// oxlint-disable-next-line import/no-named-as-default -- its types have no other
import middy from '@middy/core';
import { sendTargets, TargetQueueError } from '../aws/target-queue.ts';
import { encodeTarget, type Target } from '../fleet/target.ts';
import { tickOf } from '../fleet/tick.ts';
import { createLogger } from '../telemetry/logger.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { readBesideBundle, requiredVariable } from './environment.ts';

const logger = createLogger('dispatch');
const metrics = createMetrics('dispatch');
const sqs = new SQSClient();
const queueUrl = requiredVariable('TARGET_QUEUE_URL');
const targets: readonly Target[] = JSON.parse(readBesideBundle(import.meta.url, 'targets.json'));

/** Once a minute: one message for each cluster of the fleet. Fails when any of them is not in the queue. */
export const handler = middy<unknown, void>({ timeoutEarlyInMillis: 1_000 })
  .use(injectLambdaContext(logger))
  .use(logMetrics(metrics))
  .handler(async (event, _context, { signal }) => {
    const tick = tickOf(event, Date.now());
    const messages = targets.map((target) => ({ cluster: target.cluster.name, body: encodeTarget(target, tick) }));
    let dispatched = messages.length;
    try {
      await sendTargets(sqs, queueUrl, messages, tick, signal);
    } catch (error) {
      dispatched = error instanceof TargetQueueError ? error.sent : 0;
      throw error;
    } finally {
      metrics.addMetric(METRIC.dispatched, MetricUnit.Count, dispatched);
      logger.info('dispatched', { tick: new Date(tick).toISOString(), clusters: targets.length, dispatched });
    }
  });
