import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createEksReader } from '../aws/eks-clusters.ts';
import { createJsonObjects } from '../aws/json-objects.ts';
import { sendMessage, sendOrders } from '../aws/queues.ts';
import { createCredentials } from '../aws/spoke-credentials.ts';
import type { Fleet } from '../config/fleet.ts';
import { discoverEks } from '../fleet/discover.ts';
import { tickOf } from '../fleet/tick.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { createDispatchTick } from './dispatch-tick.ts';
import { hubIdentity, queueByLane, readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';

/** Reserved at the end of the invocation for writing the registry and the outcome. */
const WRAP_UP_MS = 10_000;

const telemetry = createTelemetry('dispatch');
const sqs = new SQSClient();
const outcomes = requiredVariable('OUTCOMES_QUEUE_URL');
const starts = requiredVariable('STARTS_QUEUE_URL');
const hub = hubIdentity();
const fleet = readBesideBundle<Fleet>(import.meta.url, 'fleet.json');
const reader = createEksReader({ credentials: createCredentials({ sessionName: 'certmarshal-dispatch' }) });
const dispatchTick = createDispatchTick({
  fleet,
  hub,
  state: createJsonObjects({ client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') }),
  discover: (only, previous, signal) =>
    discoverEks(fleet.discovery, hub, fleet.lanes, reader, signal, { only, previous }),
  send: queueByLane((queueUrl) => async (messages, signal) => sendOrders(sqs, queueUrl, messages, signal)),
  sendStart: async (body, delay, signal) => sendMessage(sqs, starts, body, delay, signal),
  sendOutcome: async (body, signal) => sendMessage(sqs, outcomes, body, {}, signal),
  clock: Date.now,
  ...telemetry,
});

/** Sends one order for each cluster of the fleet, once a minute. Fails when an order is not in its queue. */
export const handler = createHandler(telemetry, async (event, signal, context) => {
  const discoveryMs = Math.max(0, context.getRemainingTimeInMillis() - WRAP_UP_MS);
  const discovery = AbortSignal.any([signal, AbortSignal.timeout(discoveryMs)]);
  await dispatchTick(tickOf(event, Date.now()), { discovery, all: signal });
});
