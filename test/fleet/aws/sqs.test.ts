import {
  ChangeMessageVisibilityCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SteppedClock, steppedClock } from '../clock.ts';
import { awsClientConfig } from './aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';
import type { QueueOptions, SimulatedQueue } from './sqs-queue.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };
const START = Date.UTC(2026, 0, 1);
const SECOND = 1000;

let clock: SteppedClock;
let aws: SimulatedAws;
let sqs: SQSClient;
let queue: SimulatedQueue;

beforeEach(async () => {
  clock = steppedClock(START);
  aws = await startSimulatedAws({ clock });
  sqs = new SQSClient({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
});
afterEach(() => aws[Symbol.asyncDispose]());

const create = (options: Partial<QueueOptions> = {}) => {
  queue = aws.sqs.createQueue({ ...FRANKFURT, name: 'outcomes', ...options });
};
const send = (MessageBody: string, more: object = {}) =>
  sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody, ...more }));
const receive = async (count = 10): Promise<Message[]> => {
  const request = { QueueUrl: queue.url, MaxNumberOfMessages: count, MessageSystemAttributeNames: ['All' as const] };
  return (await sqs.send(new ReceiveMessageCommand(request))).Messages ?? [];
};
const bodies = async (count = 10) => (await receive(count)).map(({ Body }) => Body);
const remove = ({ ReceiptHandle }: Message = {}) =>
  sqs.send(new DeleteMessageCommand({ QueueUrl: queue.url, ReceiptHandle }));
const changeVisibility = ({ ReceiptHandle }: Message = {}, VisibilityTimeout: number) =>
  sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout }));

describe('a simulated standard queue', () => {
  beforeEach(() => create({ visibilityTimeoutSeconds: 60, retentionSeconds: 600 }));

  it('gives out a message once, until its visibility timeout ends', async () => {
    await send('one');
    expect(await bodies()).toEqual(['one']);
    await clock.advance(60 * SECOND - 1);
    expect(await bodies()).toEqual([]);
    await clock.advance(1);
    expect(await bodies()).toEqual(['one']);
  });

  it('tells about each message', async () => {
    const { MessageId } = await send('one', { MessageGroupId: 'tenant' });
    await clock.advance(SECOND);
    await receive();
    await clock.advance(60 * SECOND);
    expect(await receive()).toMatchObject([
      {
        MessageId,
        Attributes: {
          ApproximateReceiveCount: '2',
          SentTimestamp: String(START),
          ApproximateFirstReceiveTimestamp: String(START + SECOND),
          MessageGroupId: 'tenant',
        },
      },
    ]);
  });

  it('forgets what was deleted, and what is too old', async () => {
    await send('one');
    const [message] = await receive();
    await remove(message);
    await remove(message);
    await clock.advance(60 * SECOND);
    expect(await bodies()).toEqual([]);
    await send('two');
    await clock.advance(600 * SECOND);
    expect(await bodies()).toEqual([]);
    expect(queue.depth()).toEqual({ messages: 0, inFlight: 0 });
  });

  it('does not delete by the handle of an earlier receive', async () => {
    await send('one');
    const [message] = await receive();
    await clock.advance(60 * SECOND);
    await receive();
    await remove(message);
    expect(queue.depth()).toEqual({ messages: 1, inFlight: 1 });
  });

  it('changes how long a message is invisible', async () => {
    await send('one');
    const [message] = await receive();
    await changeVisibility(message, 100);
    await clock.advance(99 * SECOND);
    expect(await bodies()).toEqual([]);
    await changeVisibility(message, 0);
    expect(await bodies()).toEqual(['one']);
    await clock.advance(60 * SECOND);
    await expect(changeVisibility(message, 10)).rejects.toMatchObject({ name: 'MessageNotInflight' });
  });

  it('delays a message', async () => {
    await send('later', { DelaySeconds: 10 });
    await send('now');
    expect(await bodies()).toEqual(['now']);
    await clock.advance(10 * SECOND);
    expect(await bodies()).toEqual(['later']);
  });

  describe('waits', () => {
    const waiting = () => {
      let isOver = false;
      const request = new ReceiveMessageCommand({ QueueUrl: queue.url, WaitTimeSeconds: 20 });
      const received = sqs.send(request).finally(() => (isOver = true));
      return { received, isOver: () => isOver };
    };

    it('for a message that comes', async () => {
      const { received, isOver } = waiting();
      // The request needs some turns to arrive.
      for (let second = 0; second < 10; second += 1) await clock.advance(SECOND);
      expect(isOver()).toBe(false);
      await send('one');
      expect((await received).Messages).toMatchObject([{ Body: 'one' }]);
    });

    it('no longer than it is told to', async () => {
      const { received, isOver } = waiting();
      while (!isOver()) await clock.advance(SECOND);
      expect((await received).Messages).toBeUndefined();
      expect(clock.now()).toBeGreaterThanOrEqual(START + 20 * SECOND);
    });
  });

  it('takes what is good of a batch', async () => {
    const Entries = [
      { Id: 'good', MessageBody: 'one' },
      { Id: 'bad', MessageBody: 'two', MessageDeduplicationId: 'only for FIFO' },
    ];
    const answer = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
    expect(answer.Successful).toMatchObject([{ Id: 'good' }]);
    expect(answer.Failed).toMatchObject([{ Id: 'bad', Code: 'InvalidParameterValue', SenderFault: true }]);
    expect(await bodies()).toEqual(['one']);
  });

  it.each([
    ['EmptyBatchRequest', []],
    ['TooManyEntriesInBatchRequest', Array.from({ length: 11 }, (_, index) => ({ Id: `${index}`, MessageBody: 'x' }))],
    ['BatchEntryIdsNotDistinct', [1, 2].map(() => ({ Id: 'same', MessageBody: 'x' }))],
    ['InvalidBatchEntryId', [{ Id: 'a/b', MessageBody: 'x' }]],
    ['BatchRequestTooLong', ['a', 'b'].map((Id) => ({ Id, MessageBody: 'x'.repeat(600_000) }))],
  ])('refuses a batch: %s', async (name, Entries) => {
    const sent = sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
    await expect(sent).rejects.toMatchObject({ name });
  });

  it.each([
    ['an empty message', { MessageBody: '' }, 'MissingParameter'],
    ['more than a megabyte', { MessageBody: 'x'.repeat(1_048_577) }, 'InvalidParameterValue'],
    ['a delay of more than 15 minutes', { DelaySeconds: 901 }, 'InvalidParameterValue'],
    ['a queue that is not there', { QueueUrl: 'http://127.0.0.1/111122223333/other' }, 'QueueDoesNotExist'],
    ['a queue of another account', { QueueUrl: 'http://127.0.0.1/444455556666/foreign' }, 'AccessDenied'],
  ])('refuses %s', async (_, change, name) => {
    aws.sqs.createQueue({ ...FRANKFURT, account: '444455556666', name: 'foreign' });
    await expect(send('x', change)).rejects.toMatchObject({ name });
  });
});

describe('a simulated FIFO queue', () => {
  beforeEach(() => create({ name: 'sweeps.fifo', visibilityTimeoutSeconds: 60, deduplicationScope: 'messageGroup' }));

  const sendTo = (group: string, body: string, id = body) =>
    send(body, { MessageGroupId: group, MessageDeduplicationId: id });

  it('gives out a group in its order, and nothing of it while one of its messages is in flight', async () => {
    for (const body of ['a1', 'a2', 'a3']) await sendTo('a', body);
    await sendTo('b', 'b1');
    const [first] = await receive(1);
    expect(first?.Body).toBe('a1');
    expect(await bodies()).toEqual(['b1']);
    await remove(first);
    expect(await bodies()).toEqual(['a2', 'a3']);
    await sendTo('a', 'a4');
    expect(await bodies()).toEqual([]);
  });

  it('keeps a group back until all that was received of it is deleted', async () => {
    for (const body of ['a1', 'a2', 'a3']) await sendTo('a', body);
    const [first, second] = await receive(2);
    await remove(first);
    expect(await bodies()).toEqual([]);
    await remove(second);
    expect(await bodies()).toEqual(['a3']);
  });

  it('keeps a group back when one of two messages is visible again', async () => {
    await sendTo('a', 'a1');
    await sendTo('a', 'a2');
    const [first, second] = await receive();
    await changeVisibility(first, 0);
    expect(await bodies()).toEqual([]);
    await changeVisibility(second, 0);
    expect(await bodies()).toEqual(['a1', 'a2']);
  });

  it('gives out a group again when its message is visible again', async () => {
    await sendTo('a', 'a1');
    const [message] = await receive();
    await sendTo('a', 'a2');
    await clock.advance(59 * SECOND);
    expect(await bodies()).toEqual([]);
    await clock.advance(SECOND);
    expect(await bodies()).toEqual(['a1', 'a2']);
    await expect(remove(message)).rejects.toMatchObject({ name: 'InvalidParameterValue' });
    expect(queue.depth().messages).toBe(2);
  });

  it('gives out a group at once when it is told to', async () => {
    await sendTo('a', 'a1');
    const [message] = await receive();
    await sendTo('a', 'a2');
    await changeVisibility(message, 0);
    expect(await bodies(1)).toEqual(['a1']);
  });

  it('takes the same id of one group once in five minutes, also after it was deleted', async () => {
    const { MessageId, SequenceNumber } = await sendTo('a', 'a1', 'tick-1');
    await remove((await receive())[0]);
    await clock.advance(5 * 60 * SECOND - 1);
    expect(await sendTo('a', 'again', 'tick-1')).toMatchObject({ MessageId, SequenceNumber });
    await sendTo('b', 'b1', 'tick-1');
    expect(await bodies()).toEqual(['b1']);
    await clock.advance(1);
    await sendTo('a', 'a2', 'tick-1');
    expect(await bodies()).toEqual(['a2']);
  });

  it('can take an id once for all groups', async () => {
    create({ name: 'all.fifo' });
    await sendTo('a', 'a1', 'tick-1');
    await sendTo('b', 'b1', 'tick-1');
    expect(await bodies()).toEqual(['a1']);
  });

  it('keeps the order while messages are delayed', async () => {
    create({ name: 'slow.fifo', delaySeconds: 5 });
    await sendTo('a', 'a1');
    await clock.advance(2 * SECOND);
    await sendTo('a', 'a2');
    expect(await bodies()).toEqual([]);
    await clock.advance(3 * SECOND);
    expect(await bodies()).toEqual(['a1']);
  });

  it('drops what is too old and frees its group', async () => {
    create({ name: 'short.fifo', retentionSeconds: 60, visibilityTimeoutSeconds: 120 });
    await sendTo('a', 'a1');
    await receive();
    await clock.advance(30 * SECOND);
    await sendTo('a', 'a2');
    expect(await bodies()).toEqual([]);
    await clock.advance(30 * SECOND);
    expect(await bodies()).toEqual(['a2']);
  });

  it('deletes in batches', async () => {
    for (const group of ['a', 'b']) await sendTo(group, `${group}1`);
    const Entries = (await receive()).map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle }));
    const stale = { Id: 'stale', ReceiptHandle: 'bm9uc2Vuc2U' };
    const { Successful, Failed } = await sqs.send(
      new DeleteMessageBatchCommand({ QueueUrl: queue.url, Entries: [...Entries, stale] }),
    );
    expect(Successful).toHaveLength(2);
    expect(Failed).toMatchObject([{ Id: 'stale', Code: 'ReceiptHandleIsInvalid' }]);
    expect(queue.depth().messages).toBe(0);
  });

  it.each([
    ['a message without a group', { MessageDeduplicationId: '1' }, 'MissingParameter'],
    ['a message without a deduplication id', { MessageGroupId: 'a' }, 'InvalidParameterValue'],
    ['a delay', { MessageGroupId: 'a', MessageDeduplicationId: '1', DelaySeconds: 1 }, 'InvalidParameterValue'],
    ['too long a group', { MessageGroupId: 'a'.repeat(129), MessageDeduplicationId: '1' }, 'InvalidParameterValue'],
  ])('refuses %s', async (_, more, name) => {
    await expect(send('x', more)).rejects.toMatchObject({ name });
  });
});
