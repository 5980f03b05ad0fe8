import { setTimeout as delay } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { createEventSender } from '../aws/events.ts';
import { createLinks } from '../aws/presigned-link.ts';
import { createS3State } from '../aws/s3-state.ts';
import { createPublisher } from '../aws/topics.ts';
import { topicPlace } from '../notify/pager-message.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { readBesideBundle, requiredVariable } from './environment.ts';
import { createNotifyHandler, type NotifyOptions } from './handle-notify.ts';
import { createHandler } from './handler.ts';

const telemetry = createTelemetry('notify');
const s3 = new S3Client();
const bucket = requiredVariable('STATE_BUCKET');
const critical = requiredVariable('CRITICAL_TOPIC_ARN');
const monitoring = readBesideBundle<NotifyOptions['monitoring']>(import.meta.url, 'monitoring.json');
const handleNotify = createNotifyHandler({
  state: createS3State({ client: s3, bucket }),
  bucket,
  monitoring,
  publish: createPublisher({
    critical,
    warning: requiredVariable('WARNING_TOPIC_ARN'),
    pager: requiredVariable('PAGER_TOPIC_ARN'),
    chat: requiredVariable('CHAT_TOPIC_ARN'),
  }),
  place: topicPlace(critical),
  putEvents: createEventSender(),
  link: process.env['REPORT_LINKS'] === 'false' ? undefined : createLinks(bucket, s3),
  clock: Date.now,
  random: Math.random,
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  ...telemetry,
});

/**
 * Invoked by CloudWatch alarms through SNS, every few minutes for a look at the fleet, and once a day for the digest.
 */
export const handler = createHandler(telemetry, handleNotify);
