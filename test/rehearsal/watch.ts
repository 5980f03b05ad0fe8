import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { createS3State } from '../../lambdas/aws/s3-state.ts';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import type { Registry } from '../../lambdas/contracts/registry.ts';
import { STATE_KEYS, type StateObject } from '../../lambdas/fleet/state-keys.ts';
import type { DeployedStack } from './deployment.ts';
import { AUDIT_EVERY_MINUTES } from './fleet-file.ts';

/** The turns of all audits come within five minutes; a busy machine takes longer. */
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
  const ticks = new Set<number>();
  let said = '';
  for (;;) {
    const index = await readState<FleetIndex>(state, 'index');
    if (index?.reported !== undefined) ticks.add(index.reported);
    const line = `tick ${ticks.size}: ${describe(index) || 'no outcome yet'}`;
    if (line !== said) progress(line);
    said = line;
    if (index !== undefined && (await isEnough(index))) return { index, ticks: ticks.size };
    if (Date.now() > deadline)
      throw new Error(`not swept within ${SWEPT_WITHIN_MS} ms: ${JSON.stringify(index, undefined, 1)}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** The first tick finds the clusters, and sweeps none. */
export async function waitForRegistry(state: StateBucket, progress: Progress): Promise<void> {
  await watchIndex(state, progress, async () => (await readState<Registry>(state, 'registry')) !== undefined);
}

/**
 * Starts the state machine for the minute before this one, then for the next when all clusters were tried, until every audit had its turn. The first orders of a cluster are held, and a webhook takes
 * those of this minute.
 */
export function startMinutes(hub: DeployedStack, clusters: number): (index: FleetIndex) => Promise<void> {
  let minutes = 0;
  let [startedAt, from] = ['', 0];
  return async (index) => {
    const tried = Object.values(index.clusters).filter(({ triedAt = '' }) => triedAt > startedAt);
    if (minutes === AUDIT_EVERY_MINUTES || (minutes > 0 && tried.length < clusters)) return;
    if (minutes === 0) from = Date.now() - 60_000;
    const tick = new Date(from + minutes * 60_000).toISOString();
    minutes += 1;
    startedAt = new Date().toISOString();
    const execution = { stateMachineArn: machineOf(hub), input: JSON.stringify({ tick }) };
    await hub.account.calls.json('states', 'AWSStepFunctions.StartExecution', execution);
  };
}

/**
 * Waits until no execution of the state machine runs. On AWS an Express execution has no such history, and only its log tells how it ended.
 *
 * @returns how many the schedule started: the emulator leaves the placeholder of the time in the input
 * @throws AssertionError if one did not succeed
 */
export async function expectExecutions(hub: DeployedStack): Promise<number> {
  const { calls } = hub.account;
  const stateMachineArn = machineOf(hub);
  const running = { stateMachineArn, statusFilter: 'RUNNING' };
  while (listOf((await calls.json('states', 'AWSStepFunctions.ListExecutions', running))['executions']).length > 0)
    await sleep(LOOK_EVERY_MS);
  const { executions } = await calls.json('states', 'AWSStepFunctions.ListExecutions', { stateMachineArn });
  let scheduled = 0;
  for (const { executionArn } of listOf(executions)) {
    const { status, input, cause } = await calls.json('states', 'AWSStepFunctions.DescribeExecution', { executionArn });
    assert.equal(status, 'SUCCEEDED', `an execution with ${String(input)}: ${String(cause)}`);
    if (String(input).includes('<aws.scheduler.scheduled-time>')) scheduled += 1;
  }
  return scheduled;
}

export function machineOf({ resources }: DeployedStack): string {
  const machine = resources.find(({ type }) => type === 'AWS::StepFunctions::StateMachine');
  return machine?.physicalId ?? assert.fail('the hub has no state machine');
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : [];
}

/** @returns undefined when the app has not written it yet. */
export async function readState<T>({ s3, bucket }: StateBucket, object: StateObject): Promise<T | undefined> {
  const stored = await createS3State({ client: s3, bucket }).get(STATE_KEYS[object], AbortSignal.timeout(READ_MS));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the app itself wrote
  return stored?.value as T | undefined;
}

function describe(index: FleetIndex | undefined): string {
  return Object.values(index?.clusters ?? {})
    .map(({ id, complete, findings }) => `${id} ${complete ? 'complete' : (findings[0]?.kind ?? 'incomplete')}`)
    .join(', ');
}
