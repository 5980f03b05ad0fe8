import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { createJsonObjects } from '../aws/json-objects.ts';
import { sendMessage, sendOrders } from '../aws/queues.ts';
import type { FleetOfTargets } from '../fleet/fits-fleet.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { hubIdentity, queueByLane, readBesideBundle, requiredVariable } from './environment.ts';
import { createHintHandler } from './handle-hint.ts';
import { createHandler } from './handler.ts';

const telemetry = createTelemetry('hint');
const sqs = new SQSClient();
const waiting = requiredVariable('WAITING_QUEUE_URL');
const policies = readBesideBundle<readonly ApprovalPolicy[]>(import.meta.url, 'policies.json');
const fleet = readBesideBundle<FleetOfTargets>(import.meta.url, 'fleet.json');
const handleHint = createHintHandler({
  state: createJsonObjects({ client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') }),
  policies,
  fleet,
  hub: hubIdentity(),
  wait: async (body, delaySeconds, signal) => sendMessage(sqs, waiting, body, { delaySeconds }, signal),
  send: queueByLane((queueUrl) => async (messages, signal) => sendOrders(sqs, queueUrl, messages, signal)),
  clock: Date.now,
  ...telemetry,
});

/** Invoked by the queue of delayed hints. */
export const handler = createHandler(telemetry, handleHint);
