import {
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SteppedClock, steppedClock } from '../clock.ts';
import { awsClientConfig } from './aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';
import type { QueueOptions, ReceivedMessage, SimulatedQueue } from './sqs-queue.ts';

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
const bodies = (count = 10) => queue.receive(count).map(({ body }) => body);
const remove = ({ receiptHandle = '' }: Partial<ReceivedMessage> = {}) => queue.delete(receiptHandle);

describe('a simulated standard queue', () => {
  beforeEach(() => create({ visibilityTimeoutSeconds: 60, retentionSeconds: 600 }));

  it('gives out a message once, until its visibility timeout ends', async () => {
    await send('one');
    expect(bodies()).toEqual(['one']);
    await clock.advance(60 * SECOND - 1);
    expect(bodies()).toEqual([]);
    await clock.advance(1);
    expect(bodies()).toEqual(['one']);
  });

  it('tells about each message', async () => {
    const { MessageId } = await send('one', { MessageGroupId: 'tenant' });
    await clock.advance(SECOND);
    queue.receive(10);
    await clock.advance(60 * SECOND);
    expect(queue.receive(10)).toMatchObject([
      {
        messageId: MessageId,
        attributes: {
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
    const [message] = queue.receive(10);
    remove(message);
    remove(message);
    await clock.advance(60 * SECOND);
    expect(bodies()).toEqual([]);
    await send('two');
    await clock.advance(600 * SECOND);
    expect(bodies()).toEqual([]);
    expect(queue.depth()).toEqual({ messages: 0, inFlight: 0 });
  });

  it('does not delete by the handle of an earlier receive', async () => {
    await send('one');
    const [message] = queue.receive(10);
    await clock.advance(60 * SECOND);
    queue.receive(10);
    remove(message);
    expect(queue.depth()).toEqual({ messages: 1, inFlight: 1 });
  });

  it('delays a message', async () => {
    await send('later', { DelaySeconds: 10 });
    await send('now');
    expect(bodies()).toEqual(['now']);
    await clock.advance(10 * SECOND);
    expect(bodies()).toEqual(['later']);
  });

  it('takes what is good of a batch', async () => {
    const Entries = [
      { Id: 'good', MessageBody: 'one' },
      { Id: 'bad', MessageBody: 'two', MessageDeduplicationId: 'only for FIFO' },
    ];
    const answer = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
    expect(answer.Successful).toMatchObject([{ Id: 'good' }]);
    expect(answer.Failed).toMatchObject([{ Id: 'bad', Code: 'InvalidParameterValue', SenderFault: true }]);
    expect(bodies()).toEqual(['one']);
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

describe('who receives over the network', () => {
  beforeEach(() => create({ visibilityTimeoutSeconds: 60 }));
  const receive = async (MaxNumberOfMessages?: number) => {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: queue.url, MaxNumberOfMessages, WaitTimeSeconds: 20 }),
    );
    return Messages;
  };

  it('has so many messages, at once also when there are none, and no other has them meanwhile', async () => {
    expect(await receive(10)).toEqual([]);
    for (const body of ['one', 'two', 'three']) await send(body);
    expect((await receive()).map(({ Body }) => Body)).toEqual(['one']);
    expect((await receive(10)).map(({ Body }) => Body)).toEqual(['two', 'three']);
    expect(await receive(10)).toEqual([]);
    await expect(receive(11)).rejects.toMatchObject({ name: 'InvalidParameterValue' });
  });

  it('deletes them, several at a time', async () => {
    for (const body of ['one', 'two', 'three']) await send(body);
    const received = await receive(2);
    const Entries = received.map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle }));
    const answer = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queue.url, Entries }));
    expect(answer.Successful).toEqual([{ Id: '0' }, { Id: '1' }]);
    await clock.advance(60 * SECOND);
    expect(bodies()).toEqual(['three']);
  });

  it('needs the permission for each', async () => {
    const removeOne = async () =>
      sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queue.url, Entries: [{ Id: '0', ReceiptHandle: 'x' }] }));
    for (const [action, call] of [
      ['sqs:ReceiveMessage', receive],
      ['sqs:DeleteMessage', removeOne],
    ] as const) {
      const end = aws.deny(action);
      await expect(call()).rejects.toMatchObject({ name: 'AccessDenied' });
      end();
      await call();
    }
  });
});

describe('a simulated FIFO queue', () => {
  beforeEach(() => create({ name: 'sweeps.fifo', visibilityTimeoutSeconds: 60 }));

  const sendTo = (group: string, body: string, id = body) =>
    send(body, { MessageGroupId: group, MessageDeduplicationId: id });

  it('gives out a group in its order, and nothing of it while one of its messages is in flight', async () => {
    for (const body of ['a1', 'a2', 'a3']) await sendTo('a', body);
    await sendTo('b', 'b1');
    const [first] = queue.receive(1);
    expect(first?.body).toBe('a1');
    expect(bodies()).toEqual(['b1']);
    remove(first);
    expect(bodies()).toEqual(['a2', 'a3']);
    await sendTo('a', 'a4');
    expect(bodies()).toEqual([]);
  });

  it('keeps a group back until all that was received of it is deleted', async () => {
    for (const body of ['a1', 'a2', 'a3']) await sendTo('a', body);
    const [first, second] = queue.receive(2);
    remove(first);
    expect(bodies()).toEqual([]);
    remove(second);
    expect(bodies()).toEqual(['a3']);
  });

  it('gives out a group again when its message is visible again', async () => {
    await sendTo('a', 'a1');
    const [message] = queue.receive(10);
    await sendTo('a', 'a2');
    await clock.advance(59 * SECOND);
    expect(bodies()).toEqual([]);
    await clock.advance(SECOND);
    expect(bodies()).toEqual(['a1', 'a2']);
    remove(message);
    expect(queue.depth().messages).toBe(2);
  });

  it('takes the same id of one group once in five minutes, also after it was deleted', async () => {
    const { MessageId, SequenceNumber } = await sendTo('a', 'a1', 'tick-1');
    remove(queue.receive(10)[0]);
    await clock.advance(5 * 60 * SECOND - 1);
    expect(await sendTo('a', 'again', 'tick-1')).toMatchObject({ MessageId, SequenceNumber });
    await sendTo('b', 'b1', 'tick-1');
    expect(bodies()).toEqual(['b1']);
    await clock.advance(1);
    await sendTo('a', 'a2', 'tick-1');
    expect(bodies()).toEqual(['a2']);
  });

  it('drops what is too old and frees its group', async () => {
    create({ name: 'short.fifo', retentionSeconds: 60, visibilityTimeoutSeconds: 120 });
    await sendTo('a', 'a1');
    queue.receive(10);
    await clock.advance(30 * SECOND);
    await sendTo('a', 'a2');
    expect(bodies()).toEqual([]);
    await clock.advance(30 * SECOND);
    expect(bodies()).toEqual(['a2']);
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
