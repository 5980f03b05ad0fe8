import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import {
  deleteMessages,
  type OrderMessage,
  receiveMessages,
  sendMessage,
  sendOrders,
  UnsentOrdersError,
} from '../../../lambdas/aws/queues.ts';
import { awsFailure } from './failure.ts';
import {
  clientConfig,
  type JsonService,
  refusal,
  type ServiceAnswer,
  type ServiceCall,
  startJsonService,
} from './json-service.ts';

const QUEUE = 'https://sqs.eu-west-1.amazonaws.com/123456789012/targets.fifo';
const never = new AbortController().signal;

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageGroupId: string;
  readonly MessageDeduplicationId: string;
}

function entriesOf({ input }: ServiceCall): readonly Entry[] {
  return input['Entries'] as readonly Entry[];
}

/** An SQS that takes everything but the groups named. */
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

/** The answers of the test carry no checksums of the bodies. */
function sqs(service: JsonService): SQSClient {
  return new SQSClient({ ...clientConfig(service), useQueueUrlAsEndpoint: false, md5: false, maxAttempts: 1 });
}

const message = (index: number, body = `{"n":${index}}`): OrderMessage => ({
  group: `c${index}`,
  deduplicationId: `d${index}`,
  body,
  clusters: 1,
});

async function send(
  messages: readonly OrderMessage[],
  answer: (call: ServiceCall) => ServiceAnswer | undefined,
  signal = never,
) {
  await using service = await startJsonService(answer);
  const client = sqs(service);
  const error: unknown = await sendOrders(client, QUEUE, messages, signal).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  client.destroy();
  return { calls: service.calls, error };
}

const messages = (count: number) => Array.from({ length: count }, (_, index) => message(index));

describe('sendOrders', () => {
  it('sends every message once, ten at a time, grouped and deduplicated', async () => {
    const { calls, error } = await send(messages(23), taking());
    expect(error).toBeUndefined();
    expect(calls.map((call) => entriesOf(call).length).toSorted((a, b) => b - a)).toEqual([10, 10, 3]);
    const entries = calls.flatMap(entriesOf);
    expect(new Set(entries.map(({ MessageGroupId }) => MessageGroupId)).size).toBe(23);
    expect(entries).toContainEqual({
      Id: '1',
      MessageBody: '{"n":11}',
      MessageGroupId: 'c11',
      MessageDeduplicationId: 'd11',
    });
    expect(calls[0]?.input['QueueUrl']).toBe(QUEUE);
  });

  it('sends fewer at a time when they are large', async () => {
    const large = Array.from({ length: 10 }, (_, index) => message(index, 'ä'.repeat(40_000)));
    const { calls, error } = await send(large, taking());
    expect(error).toBeUndefined();
    expect(calls.map((call) => entriesOf(call).length)).toEqual([3, 3, 3, 1]);
  });

  it('sends nothing for an empty fleet', async () => {
    expect(await send([], taking())).toEqual({ calls: [], error: undefined });
  });

  it('names the clusters that SQS did not take', async () => {
    const { error } = await send(messages(12), taking(['c3', 'c11']));
    expect(error).toBeInstanceOf(UnsentOrdersError);
    expect(error).toMatchObject({
      sent: 10,
      unsent: [
        { group: 'c3', problem: 'InternalError' },
        { group: 'c11', problem: 'InternalError' },
      ],
      message: '2 of 12 clusters will not be swept: c3 (InternalError), c11 (InternalError)',
    });
  });

  it('counts what is not answered as unsent', async () => {
    const { error } = await send(messages(2), () => ({ body: { Successful: [{ Id: '1', MessageId: '1' }] } }));
    expect(error).toMatchObject({ sent: 1, unsent: [{ group: 'c0', problem: 'not answered' }] });
  });

  it('sends the other batches when one is refused as a whole', async () => {
    const answer = taking();
    const { calls, error } = await send(messages(25), (call) =>
      entriesOf(call).some(({ MessageGroupId }) => MessageGroupId === 'c0')
        ? refusal('AccessDenied', 403)
        : answer(call),
    );
    expect(calls).toHaveLength(3);
    expect(error).toMatchObject({ sent: 15 });
    expect(String(error)).toContain('10 of 25 clusters will not be swept: c0 (access is denied (AccessDenied)');
  });

  it('ends with the signal when no answer comes', async () => {
    const { error } = await send(messages(11), () => undefined, AbortSignal.timeout(50));
    expect(error).toMatchObject({ sent: 0 });
  });

  it('names at most ten clusters', async () => {
    const { error } = await send(messages(30), () => refusal('AccessDenied', 403));
    expect(String(error)).toMatch(/ and 20 more$/);
    expect(String(error)).not.toContain('c10 ');
  });
});

describe('receiveMessages', () => {
  const receive = async (answer: ServiceAnswer) => {
    await using service = await startJsonService(() => answer);
    const client = sqs(service);
    const received = receiveMessages(client, QUEUE, never).finally(() => client.destroy());
    return { received: await received, calls: service.calls };
  };

  it('takes ten at most, and asks all servers of SQS before it finds none', async () => {
    const { received, calls } = await receive({
      body: { Messages: [{ MessageId: 'm', ReceiptHandle: 'h', Body: 'b' }] },
    });
    expect(received).toEqual([{ id: 'm', handle: 'h', body: 'b' }]);
    expect(calls).toMatchObject([
      {
        operation: 'AmazonSQS.ReceiveMessage',
        input: { QueueUrl: QUEUE, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 },
      },
    ]);
    expect((await receive({ body: {} })).received).toEqual([]);
  });

  it('says what it was refused', async () => {
    const error = await awsFailure(receive(refusal('AccessDenied', 403)));
    expect(error).toMatchObject({ kind: 'denied', object: 'sqs:ReceiveMessage of targets.fifo' });
  });
});

describe('deleteMessages', () => {
  const received = Array.from({ length: 23 }, (_, n) => ({ id: `m${n}`, handle: `h${n}`, body: 'b' }));
  const handlesOf = ({ input }: ServiceCall) =>
    (input['Entries'] as { ReceiptHandle: string }[]).map(({ ReceiptHandle }) => ReceiptHandle);
  const remove = async (answer: (call: ServiceCall) => ServiceAnswer, all = received) => {
    await using service = await startJsonService(answer);
    const client = sqs(service);
    const error: unknown = await deleteMessages(client, QUEUE, all, never).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    client.destroy();
    return { error, calls: service.calls };
  };

  it('deletes each once, ten at a time', async () => {
    const { error, calls } = await remove(() => ({ body: { Successful: [] } }));
    expect(error).toBeUndefined();
    expect(calls.map((call) => handlesOf(call).length).toSorted((a, b) => b - a)).toEqual([10, 10, 3]);
    expect(calls.flatMap(handlesOf).toSorted()).toEqual(received.map(({ handle }) => handle).toSorted());
    expect((await remove(() => ({ body: {} }), [])).calls).toEqual([]);
  });

  it('tries all, and says when some stay', async () => {
    const { error, calls } = await remove((call) =>
      handlesOf(call).includes('h0') ? refusal('AccessDenied', 403) : { body: {} },
    );
    expect(calls).toHaveLength(3);
    expect(error).toMatchObject({ kind: 'denied', object: 'sqs:DeleteMessage of targets.fifo' });
    const stays = await remove(() => ({ body: { Failed: [{ Id: '0', Code: 'Internal\u001bError' }] } }));
    expect(String(stays.error)).toContain('a message was not deleted (Internal\\u{1b}Error)');
  });
});

describe('sendMessage', () => {
  async function sendOne(answer: ServiceAnswer | undefined, options = {}, signal = never) {
    await using service = await startJsonService(() => answer);
    const client = sqs(service);
    try {
      await sendMessage(client, QUEUE, 'body', options, signal);
    } finally {
      client.destroy();
    }
    return service.calls.map(({ input }) => input);
  }

  it('sends the body, at once or later', async () => {
    const answer = { body: { MessageId: '1' } };
    expect(await sendOne(answer)).toEqual([{ QueueUrl: QUEUE, MessageBody: 'body' }]);
    expect(await sendOne(answer, { delaySeconds: 45 })).toEqual([
      { QueueUrl: QUEUE, MessageBody: 'body', DelaySeconds: 45 },
    ]);
  });

  it.each([
    ['QueueDoesNotExist', 400, 'not-found'],
    ['AccessDenied', 403, 'denied'],
    ['ThrottlingException', 400, 'throttled'],
  ])('says what %s means', async (type, status, kind) => {
    const error = await awsFailure(sendOne(refusal(type, status)));
    expect(error).toMatchObject({ kind, object: 'sqs:SendMessage to targets.fifo' });
  });

  it('ends with the signal when no answer comes', async () => {
    expect(await awsFailure(sendOne(undefined, {}, AbortSignal.timeout(30)))).toMatchObject({ kind: 'aborted' });
  });
});
