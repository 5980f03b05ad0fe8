import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEventSender } from '../../../lambdas/aws/events.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { AwsFault } from '../../fleet/aws/aws-fault.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { steppedClock } from '../../fleet/clock.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };
const never = new AbortController().signal;
const entries = (count: number, story = 's') =>
  Array.from({ length: count }, (_, index) => ({ detailType: 'certmarshal alarm opened', detail: { index, story } }));

describe('putEvents', () => {
  let aws: SimulatedAws;
  let client: EventBridgeClient;
  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 0, 1)) });
    client = new EventBridgeClient({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
  });
  afterEach(() => aws[Symbol.asyncDispose]());
  const put = (events: ReturnType<typeof entries>, signal = never) => createEventSender(client)(events, signal);

  it('sends ten at a time, in their order', async () => {
    expect(await put(entries(23))).toEqual({ unsent: [] });
    expect(aws.calls).toHaveLength(3);
    expect(aws.eventBridge.eventsOf(FRANKFURT)).toEqual(
      entries(23).map((entry) => ({ source: 'certmarshal', ...entry })),
    );
  });

  it('sends fewer at a time when they are large, and nothing for none', async () => {
    await put(entries(10, 'ä'.repeat(40_000)));
    expect(aws.calls).toHaveLength(4);
    expect(await put([])).toEqual({ unsent: [] });
    expect(aws.calls).toHaveLength(4);
  });

  it('gives back those that were not taken, though the request was', async () => {
    aws.eventBridge.refuseEntries(2);
    const { unsent, error } = await put(entries(12));
    expect(unsent.map(({ detail }) => detail.index)).toEqual([0, 1]);
    expect(error).toMatchObject({ kind: 'unavailable', problem: 'some events were not accepted (InternalFailure)' });
    expect(aws.eventBridge.eventsOf(FRANKFURT)).toHaveLength(10);
  });

  it('gives back a whole request, and sends the others', async () => {
    aws.fail('events:PutEvents', new AwsFault(400, 'ThrottlingException', 'slow'), 1);
    const { unsent, error } = await put(entries(12));
    expect(unsent).toHaveLength(10);
    expect(error).toMatchObject({ kind: 'throttled', object: 'events:PutEvents to the default bus' });
  });

  it('gives all back when there is no time', async () => {
    const { unsent, error } = await put(entries(12), AbortSignal.abort());
    expect(unsent).toHaveLength(12);
    expect(error).toMatchObject({ kind: 'aborted' });
  });
});
