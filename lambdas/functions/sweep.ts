import { setTimeout as delay } from 'node:timers/promises';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApprovalPolicy } from '../approval/policy.ts';
import type { Thresholds } from '../audit/rules/thresholds.ts';
import { isEksEndpoint } from '../aws/eks-endpoint.ts';
import { createTokenSigner } from '../aws/eks-token.ts';
import { createSecretReader } from '../aws/kubeconfig-secret.ts';
import { sendMessage } from '../aws/queues.ts';
import { createCredentials } from '../aws/spoke-credentials.ts';
import { createTargetSweeper } from '../cluster/sweep-target.ts';
import type { FleetRollouts } from '../config/fleet.ts';
import { createOrderRefusal, type FleetOfTargets } from '../fleet/fits-fleet.ts';
import { withRetryBuffer } from '../journal/sweep-journal.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { hubIdentity, readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';
import { createSweepBatch } from './sweep-batch.ts';
import {
  lazyAuditor,
  lazyClusterDescriber,
  lazyInstanceReader,
  lazyJournal,
  lazyRecoverer,
  lazyRoller,
} from './sweep-parts.ts';

/** Sweeps are told to end this long before Lambda ends them, which gives them time to say what they did and did not do. */
const WRAP_UP_MS = 10_000;
/** Of that, how long they have to notice and to send their outcomes. */
const GRACE_MS = 8_000;

const telemetry = createTelemetry('sweep');
const sqs = new SQSClient();
const outcomes = requiredVariable('OUTCOMES_QUEUE_URL');
const policies = readBesideBundle<readonly ApprovalPolicy[]>(import.meta.url, 'policies.json');
const thresholds = readBesideBundle<Thresholds>(import.meta.url, 'audit.json');
const rollouts = readBesideBundle<FleetRollouts>(import.meta.url, 'rollouts.json');
const fleet = readBesideBundle<FleetOfTargets>(import.meta.url, 'fleet.json');
const credentials = createCredentials({ sessionName: 'certmarshal-sweep' });
const sweepBatch = createSweepBatch({
  refusal: createOrderRefusal(fleet, hubIdentity(), requiredVariable('LANE')),
  sweepOne: createTargetSweeper({
    addresses: 'cluster',
    readSecret: createSecretReader(),
    signToken: createTokenSigner({}),
    isEksEndpoint,
    describeCluster: lazyClusterDescriber(credentials),
    listInstances: lazyInstanceReader(credentials),
    principalArn: requiredVariable('SWEEP_ROLE_ARN'),
    policies,
    clock: Date.now,
    audit: lazyAuditor({ credentials, bucket: requiredVariable('SNAPSHOT_BUCKET'), thresholds, clock: Date.now }),
    roll: lazyRoller({ credentials, rollouts, bucket: requiredVariable('STATE_BUCKET'), clock: Date.now }),
    recover: lazyRecoverer({ program: packageJson.version, clock: Date.now }),
    journal: {
      program: packageJson.version,
      journal: withRetryBuffer(
        lazyJournal({
          bucket: requiredVariable('JOURNAL_BUCKET'),
          onRebuilt: (rebuilt) => telemetry.logger.warn('journal head rebuilt', { ...rebuilt }),
        }),
      ),
    },
  }),
  send: async (body, signal) => sendMessage(sqs, outcomes, body, {}, signal),
  wait: async (ms, signal) => delay(ms, undefined, { signal }),
  clock: Date.now,
  ...telemetry,
});

/** Sweeps the clusters that the orders of an SQS batch name. */
export const handler = createHandler(
  telemetry,
  async (event: SQSEvent, signal, context) => {
    const last = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - (WRAP_UP_MS - GRACE_MS)));
    return sweepBatch(event, context, signal, last);
  },
  {
    timeoutEarlyInMillis: WRAP_UP_MS,
    // Called when the signal aborts. The answer of middy must lose against the batch, which then ends on its own.
    timeoutEarlyResponse: async () => {
      await delay(GRACE_MS, undefined, { ref: false });
      throw new Error(`The sweeps did not end within ${GRACE_MS} ms of being told to.`);
    },
  },
);
