import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { createJsonObjects } from '../../lambdas/aws/json-objects.ts';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import { STATE_KEYS, type StateObject } from '../../lambdas/fleet/state-keys.ts';
import type { DeployedStack } from './deployment.ts';
import { AUDIT_EVERY_MINUTES } from './fleet-file.ts';

/** The turns of all audits come within five minutes, and report half a minute after each; a busy machine takes longer. */
const SWEPT_WITHIN_MS = 9 * 60_000;
const LOOK_EVERY_MS = 1_000;
const READ_MS = 30_000;

/** Says what goes on, a line at a time. */
export type Progress = (line: string) => void;

/** What the app keeps in its bucket. */
export interface StateBucket {
  readonly s3: S3Client;
  readonly bucket: string;
}

/** The newest index, and how many ticks it told of while it was watched. */
export interface Watched {
  readonly index: FleetIndex;
  readonly ticks: number;
}

/**
 * Reads the fleet index each second, as report writes it, until it and the clusters are as wanted.
 *
 * @throws Error with the newest index after nine minutes
 */
export async function watchIndex(
  state: StateBucket,
  progress: Progress,
  isEnough: (index: FleetIndex) => Promise<boolean>,
): Promise<Watched> {
  const deadline = Date.now() + SWEPT_WITHIN_MS;
  const ticks = new Set<string>();
  let said = '';
  for (;;) {
    const index = await readState<FleetIndex>(state, 'index');
    if (index?.dispatch !== undefined) ticks.add(index.dispatch.at);
    const line = `tick ${ticks.size}: ${describe(index) || 'no outcome yet'}`;
    if (line !== said) progress(line);
    said = line;
    if (index !== undefined && (await isEnough(index))) return { index, ticks: ticks.size };
    if (Date.now() > deadline)
      throw new Error(`not swept within ${SWEPT_WITHIN_MS} ms: ${JSON.stringify(index, undefined, 1)}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Of the hub: its dispatch is started for the next minute when all clusters were tried in the one before, at most so often. */
export function startMinutes(
  { account: { calls }, resources }: DeployedStack,
  clusters: number,
  atMost = AUDIT_EVERY_MINUTES,
): (index: FleetIndex) => Promise<void> {
  const dispatch = resources.find(
    ({ type, logicalId }) => type === 'AWS::Lambda::Function' && logicalId.startsWith('Dispatch'),
  );
  let minutes = 0;
  let startedAt = '';
  return async (index) => {
    const tried = Object.values(index.clusters).filter(({ triedAt = '' }) => triedAt > startedAt);
    if (minutes === atMost || tried.length < clusters) return;
    minutes += 1;
    startedAt = new Date().toISOString();
    const scheduledTime = new Date(Date.now() + minutes * 60_000).toISOString();
    const path = `/2015-03-31/functions/${dispatch?.physicalId}/invocations`;
    assert.equal(await calls.post('lambda', path, { scheduledTime }), 'null', 'what dispatch returns');
  };
}

/** @returns undefined when the app has not written it yet. */
export async function readState<T>({ s3, bucket }: StateBucket, object: StateObject): Promise<T | undefined> {
  const found = await createJsonObjects({ client: s3, bucket }).read(STATE_KEYS[object], AbortSignal.timeout(READ_MS));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the app itself wrote
  return found?.value as T | undefined;
}

function describe(index: FleetIndex | undefined): string {
  return Object.values(index?.clusters ?? {})
    .map(({ id, complete, findings }) => `${id} ${complete ? 'complete' : (findings[0]?.kind ?? 'incomplete')}`)
    .join(', ');
}
