import { setTimeout as delay } from 'node:timers/promises';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import { S3Client } from '@aws-sdk/client-s3';
// oxlint-disable-next-line import/no-named-as-default -- its types have no other
import middy from '@middy/core';
import type { SQSEvent } from 'aws-lambda';
import { createJsonObjects } from '../aws/json-objects.ts';
import { createLogger } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { requiredVariable } from './environment.ts';
import { createFoldBatch } from './fold-batch.ts';

const logger = createLogger('report');
const metrics = createMetrics('report');
const foldBatch = createFoldBatch({
  state: createJsonObjects({ client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') }),
  clock: Date.now,
  random: Math.random,
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  logger,
  metrics,
});

/** Folds what became of the sweeps into the fleet index. */
export const handler = middy<SQSEvent, void>({ timeoutEarlyInMillis: 1_000 })
  .use(injectLambdaContext(logger))
  .use(logMetrics(metrics))
  .handler(async (event, _context, { signal }) => foldBatch(event, signal));
