import { setTimeout as delay } from 'node:timers/promises';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
// oxlint-disable-next-line import/no-named-as-default -- its types have no other
import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { createSecretReader } from '../aws/kubeconfig-secret.ts';
import { createTargetSweeper } from '../fleet/sweep-target.ts';
import { createLogger } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { readBesideBundle } from './environment.ts';
import { createSweepBatch } from './sweep-batch.ts';

/** Sweeps are told to end this long before Lambda ends them, which gives them time to say what they did and did not do. */
const WRAP_UP_MS = 10_000;
/** Of that, how long they have to notice. */
const GRACE_MS = 8_000;

const logger = createLogger('sweep');
const metrics = createMetrics('sweep');
const policies: readonly ApprovalPolicy[] = JSON.parse(readBesideBundle(import.meta.url, 'policies.json'));
const sweepBatch = createSweepBatch({
  sweepOne: createTargetSweeper({
    readSecret: createSecretReader(),
    policies,
    clock: Date.now,
  }),
  logger,
  metrics,
});

/** Sweeps the clusters that the messages of an SQS batch name. */
export const handler = middy<SQSEvent, SQSBatchResponse>({
  timeoutEarlyInMillis: WRAP_UP_MS,
  // Called when the signal aborts. The answer of middy must lose against the batch, which then ends on its own.
  timeoutEarlyResponse: async () => {
    await delay(GRACE_MS, undefined, { ref: false });
    throw new Error(`The sweeps did not end within ${GRACE_MS} ms of being told to.`);
  },
})
  .use(injectLambdaContext(logger))
  .use(logMetrics(metrics))
  .handler(async (event, context, { signal }) => sweepBatch(event, context, signal));
