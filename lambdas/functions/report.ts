import { setTimeout as delay } from 'node:timers/promises';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import { S3Client } from '@aws-sdk/client-s3';
// oxlint-disable-next-line import/no-named-as-default -- its types have no other
import middy from '@middy/core';
import type { SQSEvent } from 'aws-lambda';
import packageJson from '../../package.json' with { type: 'json' };
import { createByteObjects } from '../aws/byte-objects.ts';
import { createStateObjects } from '../fleet/state-objects.ts';
import type { Monitoring } from '../health/fleet-health.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { createLogger } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { readBesideBundle, requiredVariable } from './environment.ts';
import { createFoldBatch } from './fold-batch.ts';
import { writePage } from './write-page.ts';

const logger = createLogger('report');
const metrics = createMetrics('report');
const monitoring = readBesideBundle<Monitoring>(import.meta.url, 'monitoring.json');
const state = { client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') };
const LARGEST_PAGE = 2_000_000;
const pages = createByteObjects({ ...state, largest: LARGEST_PAGE, contentType: 'text/html; charset=utf-8' });
const foldBatch = createFoldBatch({
  state: createStateObjects(state),
  clock: Date.now,
  random: Math.random,
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  logger,
  metrics,
  monitoring,
  page: {
    everyMs: HUB_SIZES.page.everySeconds * 1_000,
    publish: async (health, signal) => {
      // One batch in fifteen makes a page.
      const { renderPage } = await import('../page/page.ts');
      await writePage(renderPage(health, { program: packageJson.version }), pages, signal);
    },
  },
});

/** Folds what became of the sweeps into the fleet index, measures the fleet, and makes the report page. */
export const handler = middy<SQSEvent, void>({ timeoutEarlyInMillis: 1_000 })
  .use(injectLambdaContext(logger))
  .use(logMetrics(metrics))
  .handler(async (event, _context, { signal }) => foldBatch(event, signal));
