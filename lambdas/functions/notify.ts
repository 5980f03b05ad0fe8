import { S3Client } from '@aws-sdk/client-s3';
import { createLinks } from '../aws/presigned-link.ts';
import { createS3State } from '../aws/s3-state.ts';
import { createPublisher } from '../aws/topics.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { readBesideBundle, requiredVariable } from './environment.ts';
import { createNotifyHandler, type NotifyOptions } from './handle-notify.ts';
import { createHandler } from './handler.ts';

const telemetry = createTelemetry('notify');
const s3 = new S3Client();
const bucket = requiredVariable('STATE_BUCKET');
const critical = requiredVariable('CRITICAL_TOPIC_ARN');
const handleNotify = createNotifyHandler({
  state: createS3State({ client: s3, bucket }),
  monitoring: readBesideBundle<NotifyOptions['monitoring']>(import.meta.url, 'monitoring.json'),
  publish: createPublisher({
    critical,
    warning: requiredVariable('WARNING_TOPIC_ARN'),
    pager: requiredVariable('PAGER_TOPIC_ARN'),
    chat: requiredVariable('CHAT_TOPIC_ARN'),
  }),
  topicArn: critical,
  link: process.env['REPORT_LINKS'] === 'false' ? undefined : createLinks(bucket, s3),
  clock: Date.now,
  ...telemetry,
});

/** Invoked by EventBridge for each state change of an alarm, and once a day. */
export const handler = createHandler(telemetry, handleNotify);
