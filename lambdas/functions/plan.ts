import { S3Client } from '@aws-sdk/client-s3';
import { createS3State } from '../aws/s3-state.ts';
import type { Fleet } from '../config/fleet.ts';
import { createTargetsOf } from '../fleet/fits-fleet.ts';
import { createPlan } from '../fleet/plan.ts';
import { tickOf } from '../fleet/tick.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { hubIdentity, laneFunctions, readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';

const telemetry = createTelemetry('plan');
const fleet = readBesideBundle<Fleet>(import.meta.url, 'fleet.json');
const plan = createPlan({
  fleet,
  targetsOf: createTargetsOf(fleet, hubIdentity()),
  state: createS3State({ client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') }),
  functions: laneFunctions(),
  clock: Date.now,
  ...telemetry,
});

/** Answers with the sweeps of this minute, for the Map of the state machine. */
export const handler = createHandler(telemetry, async (event, signal) => plan(tickOf(event, Date.now()), signal));
