import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';

import { sendTargets, TargetQueueError } from '../../../lambdas/aws/target-queue.ts';
import { clientConfig, refusal, type ServiceAnswer, type ServiceCall, startJsonService } from './json-service.ts';

const QUEUE = 'https://sqs.eu-west-1.amazonaws.com/123456789012/targets.fifo';
const TICK = Date.parse('2026-11-21T10:00:00Z');
const never = new AbortController().signal;

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageGroupId: string;
  readonly MessageDeduplicationId: string;
}

function entriesOf({ input }: ServiceCall): readonly Entry[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape of SendMessageBatch
  return input['Entries'] as readonly Entry[];
}

/** An SQS that takes everything but the clusters named. */
function taking(refused: readonly string[] = []): (call: ServiceCall) => ServiceAnswer {
  return (call) => {
    const entries = entriesOf(call);
    return {
      body: {
        Successful: entries
          .filter(({ MessageGroupId }) => !refused.includes(MessageGroupId))
          .map(({ Id }) => ({ Id, MessageId: Id, SequenceNumber: '1' })),
        Failed: entries
          .filter(({ MessageGroupId }) => refused.includes(MessageGroupId))
          .map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false })),
      },
    };
  };
}

async function send(clusters: number, answer: (call: ServiceCall) => ServiceAnswer | undefined, signal = never) {
  await using service = await startJsonService(answer);
  // The answers of the test carry no checksums of the bodies.
  const client = new SQSClient({ ...clientConfig(service), useQueueUrlAsEndpoint: false, md5: false, maxAttempts: 1 });
  const messages = Array.from({ length: clusters }, (_, index) => ({ cluster: `c${index}`, body: `{"n":${index}}` }));
  const error: unknown = await sendTargets(client, QUEUE, messages, TICK, signal).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  client.destroy();
  return { calls: service.calls, error };
}

describe('sendTargets', () => {
  it('sends every cluster once, ten at a time, grouped and deduplicated', async () => {
    const { calls, error } = await send(23, taking());
    expect(error).toBeUndefined();
    expect(calls.map((call) => entriesOf(call).length).toSorted((a, b) => b - a)).toEqual([10, 10, 3]);
    const entries = calls.flatMap(entriesOf);
    expect(new Set(entries.map(({ MessageGroupId }) => MessageGroupId)).size).toBe(23);
    expect(entries).toContainEqual({
      Id: '1',
      MessageBody: '{"n":11}',
      MessageGroupId: 'c11',
      MessageDeduplicationId: `c11:${TICK}`,
    });
    expect(calls[0]?.input['QueueUrl']).toBe(QUEUE);
  });

  it('sends nothing for an empty fleet', async () => {
    expect(await send(0, taking())).toEqual({ calls: [], error: undefined });
  });

  it('names the clusters that SQS did not take', async () => {
    const { error } = await send(12, taking(['c3', 'c11']));
    expect(error).toBeInstanceOf(TargetQueueError);
    expect(error).toMatchObject({
      sent: 10,
      unsent: [
        { cluster: 'c3', problem: 'InternalError' },
        { cluster: 'c11', problem: 'InternalError' },
      ],
      message: '2 of 12 clusters will not be swept: c3 (InternalError), c11 (InternalError)',
    });
  });

  it('sends the other batches when one is refused as a whole', async () => {
    const answer = taking();
    const { calls, error } = await send(25, (call) =>
      entriesOf(call).some(({ MessageGroupId }) => MessageGroupId === 'c0')
        ? refusal('AccessDenied', 403)
        : answer(call),
    );
    expect(calls).toHaveLength(3);
    expect(error).toMatchObject({ sent: 15 });
    expect(String(error)).toContain('10 of 25 clusters will not be swept: c0 (AccessDenied)');
  });

  it('ends with the signal when no answer comes', async () => {
    const { error } = await send(11, () => undefined, AbortSignal.timeout(50));
    expect(error).toMatchObject({ sent: 0 });
  });

  it('names at most ten clusters', async () => {
    const { error } = await send(30, () => refusal('AccessDenied', 403));
    expect(String(error)).toMatch(/c9 \(AccessDenied\) and 20 more$/);
  });
});
