import { setTimeout as delay } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import packageJson from '../../package.json' with { type: 'json' };
import { createJsonObjects } from '../aws/json-objects.ts';
import { deleteMessages, receiveMessages } from '../aws/queues.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';
import { createReportTick, type ReportOptions } from './report-tick.ts';
import { createPageObjects, writePage } from './write-page.ts';

const telemetry = createTelemetry('report');
const monitoring = readBesideBundle<ReportOptions['monitoring']>(import.meta.url, 'monitoring.json');
const state = { client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') };
const sqs = new SQSClient();
const outcomes = requiredVariable('OUTCOMES_QUEUE_URL');
const pages = createPageObjects(state);
const reportTick = createReportTick({
  outcomes: {
    receive: async (signal) => receiveMessages(sqs, outcomes, signal),
    remove: async (messages, signal) => deleteMessages(sqs, outcomes, messages, signal),
  },
  state: createJsonObjects(state),
  clock: Date.now,
  random: Math.random,
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  ...telemetry,
  monitoring,
  page: {
    everyMs: HUB_SIZES.page.everySeconds * 1_000,
    publish: async (health, signal) => {
      // One tick in five writes a page.
      const { renderPage } = await import('../page/page.ts');
      const page = renderPage(health, {
        version: packageJson.version,
        again: `certmarshal report --bucket ${state.bucket} --output json`,
        runbooks: monitoring.runbooks,
      });
      await writePage(page, pages, signal);
    },
  },
});

/** Once a minute: folds the outcomes of sweeps into the fleet index, publishes metrics, and writes the report page. */
export const handler = createHandler(telemetry, reportTick);
