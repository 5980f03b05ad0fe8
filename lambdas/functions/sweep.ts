import { setTimeout as delay } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { createS3State } from '../aws/s3-state.ts';
import { createDeployedMinute, type DeployedOptions } from '../cluster/deployed.ts';
import { createSweep, NotBegunError } from '../cluster/sweep.ts';
import { readItem } from '../contracts/order.ts';
import { createCompleteOrder, createTargetsOf, type FleetOfTargets } from '../fleet/fits-fleet.ts';
import { field, text } from '../resources/fields.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { hubIdentity, readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';

/** Sweeps are aborted this long before Lambda's timeout, so that they can report what they did and did not do. */
const WRAP_UP_MS = 10_000;
/** The part of it in which they notice the abort and write their outcomes. */
const GRACE_MS = 8_000;
/** Report must run within the five minutes of an Express execution. Milliseconds after its start. */
const LATEST_MS = 200_000;

const telemetry = createTelemetry('sweep');
const fleet = readBesideBundle<FleetOfTargets>(import.meta.url, 'fleet.json');
const lane = requiredVariable('LANE');
const sweep = createSweep({
  lane,
  complete: createCompleteOrder(fleet, createTargetsOf(fleet, hubIdentity()), lane),
  sweepOne: createDeployedMinute({
    principalArn: requiredVariable('SWEEP_ROLE_ARN'),
    policies: readBesideBundle<DeployedOptions['policies']>(import.meta.url, 'policies.json'),
    auditRules: readBesideBundle<DeployedOptions['auditRules']>(import.meta.url, 'audit.json'),
    rollouts: readBesideBundle<DeployedOptions['rollouts']>(import.meta.url, 'rollouts.json'),
    recovery: fleet.recovery,
    buckets: {
      snapshots: requiredVariable('SNAPSHOT_BUCKET'),
      state: requiredVariable('STATE_BUCKET'),
      journal: requiredVariable('JOURNAL_BUCKET'),
    },
  }),
  state: createS3State({ client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') }),
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  clock: Date.now,
  ...telemetry,
});

/** Called by the Map of the state machine with a shard, or by the webhook with a cluster. */
export const handler = createHandler(
  telemetry,
  async (event: unknown, signal, context) => {
    const cluster = text(event, 'cluster');
    if (cluster !== undefined) return sweep.cluster(cluster, signal);
    const began = Date.parse(text(event, 'began') ?? '');
    if (!(Date.now() - began < LATEST_MS)) throw new NotBegunError('the execution began too long ago');
    const item = readItem(field(event, 'item'));
    if (!item.ok) throw new NotBegunError(item.problem);
    const last = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - (WRAP_UP_MS - GRACE_MS)));
    await sweep.shard(item.value, signal, last);
    return { shard: item.value.shard };
  },
  {
    timeoutEarlyInMillis: WRAP_UP_MS,
    // Called when the signal aborts. middy's own answer must lose against the sweep, which then ends alone.
    timeoutEarlyResponse: async () => {
      await delay(GRACE_MS, undefined, { ref: false });
      throw new Error(`The sweeps did not end within ${GRACE_MS} ms of the order to stop.`);
    },
  },
);
