import { setTimeout as delay } from 'node:timers/promises';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { sendMessage } from '../aws/queues.ts';
import { createDeployedMinute, type DeployedOptions } from '../cluster/deployed.ts';
import { createCompleteOrder, type FleetOfTargets } from '../fleet/fits-fleet.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { hubIdentity, readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';
import { createSweepShard } from './sweep-shard.ts';

/** Sweeps are aborted this long before Lambda's timeout, so that they can report what they did and did not do. */
const WRAP_UP_MS = 10_000;
/** The part of it in which they notice the abort and send their outcomes. */
const GRACE_MS = 8_000;

const telemetry = createTelemetry('sweep');
const sqs = new SQSClient();
const outcomes = requiredVariable('OUTCOMES_QUEUE_URL');
const fleet = readBesideBundle<FleetOfTargets>(import.meta.url, 'fleet.json');
const sweepShard = createSweepShard({
  complete: createCompleteOrder(fleet, hubIdentity(), requiredVariable('LANE')),
  sweepOne: createDeployedMinute({
    principalArn: requiredVariable('SWEEP_ROLE_ARN'),
    policies: readBesideBundle<DeployedOptions['policies']>(import.meta.url, 'policies.json'),
    thresholds: readBesideBundle<DeployedOptions['thresholds']>(import.meta.url, 'audit.json'),
    rollouts: readBesideBundle<DeployedOptions['rollouts']>(import.meta.url, 'rollouts.json'),
    recovery: fleet.recovery,
    buckets: {
      snapshots: requiredVariable('SNAPSHOT_BUCKET'),
      state: requiredVariable('STATE_BUCKET'),
      journal: requiredVariable('JOURNAL_BUCKET'),
    },
  }),
  send: async (body, signal) => sendMessage(sqs, outcomes, body, {}, signal),
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  clock: Date.now,
  ...telemetry,
});

export const handler = createHandler(
  telemetry,
  async (event: SQSEvent, signal, context) => {
    const last = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - (WRAP_UP_MS - GRACE_MS)));
    await sweepShard(event, signal, last);
  },
  {
    timeoutEarlyInMillis: WRAP_UP_MS,
    // Called when the signal aborts. middy's own answer must lose against the batch, which then ends alone.
    timeoutEarlyResponse: async () => {
      await delay(GRACE_MS, undefined, { ref: false });
      throw new Error(`The sweeps did not end within ${GRACE_MS} ms of the order to stop.`);
    },
  },
);
