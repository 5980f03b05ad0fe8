import {
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { printable } from '../printable.ts';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';
import { AwsError } from './errors.ts';

/** The most messages of one request (Amazon SQS API reference). */
export const MAX_MESSAGES = 10;
/** Bytes of the bodies of one batch, under the current and the older quota of SendMessageBatch. */
const MAX_BATCH = 256 * 1024;
/** Concurrent batches: 10,000 clusters in about ten seconds. */
const IN_FLIGHT = 10;

/** A message for a FIFO queue. */
export interface OrderMessage {
  /** MessageGroupId, at most 128 characters: one message of a group is worked on at a time. */
  readonly group: string;
  /** MessageDeduplicationId, at most 128 characters: repetitions within five minutes are dropped. */
  readonly deduplicationId: string;
  readonly body: string;
  readonly clusters: number;
}

export interface UnsentOrder {
  readonly group: string;
  readonly clusters: number;
  readonly problem: string;
}

/** Thrown after all were tried, if some messages are not in the queue. */
export class UnsentOrdersError extends Error {
  override readonly name = 'UnsentOrdersError';
  readonly unsent: readonly UnsentOrder[];
  /** Number of clusters that are in the queue. */
  readonly sent: number;
  readonly remedy =
    'The next tick sends them again; if it persists, check that the role of dispatch may sqs:SendMessage.';

  constructor(unsent: readonly UnsentOrder[], sent: number) {
    const named = unsent.slice(0, 10).map(({ group, problem }) => `${group} (${problem})`);
    const more = unsent.length > named.length ? ` and ${unsent.length - named.length} more` : '';
    const clusters = clustersOf(unsent);
    super(`${clusters} of ${clusters + sent} clusters will not be swept: ${named.join(', ')}${more}`);
    this.unsent = unsent;
    this.sent = sent;
  }
}

function clustersOf(some: readonly { readonly clusters: number }[]): number {
  return some.reduce((sum, { clusters }) => sum + clusters, 0);
}

/**
 * Sends messages to a FIFO queue. Tries all.
 *
 * @throws UnsentOrdersError that names every unsent message
 */
export async function sendOrders(
  client: SQSClient,
  queueUrl: string,
  messages: readonly OrderMessage[],
  signal: AbortSignal,
): Promise<void> {
  const unsent: UnsentOrder[] = [];
  await forEachInFlight(batchesOf(messages), async (batch) => {
    unsent.push(...(await sendBatch(client, queueUrl, batch, signal)));
  });
  if (unsent.length > 0) throw new UnsentOrdersError(unsent, clustersOf(messages) - clustersOf(unsent));
}

/**
 * Sends one message to a standard queue.
 *
 * @param options `delaySeconds` until it can be received, at most 900
 * @throws AwsError
 */
export async function sendMessage(
  client: SQSClient,
  queueUrl: string,
  body: string,
  { delaySeconds }: { readonly delaySeconds?: number },
  signal: AbortSignal,
): Promise<void> {
  const command = new SendMessageCommand({
    QueueUrl: queueUrl,
    MessageBody: body,
    DelaySeconds: delaySeconds,
  });
  const object = callOf(queueUrl);
  await callAws({ object }, signal, (abortSignal) => client.send(command, { abortSignal }));
}

/** A message hidden from other receivers until it is deleted, or its visibility timeout ends. */
export interface ReceivedMessage {
  readonly id: string;
  readonly handle: string;
  readonly body: string;
}

/**
 * Receives messages of a standard queue with one request.
 *
 * @returns at most {@link MAX_MESSAGES}. Waits a second, which makes SQS ask all its servers, so an empty list means an
 * empty queue.
 * @throws AwsError
 */
export async function receiveMessages(
  client: SQSClient,
  queueUrl: string,
  signal: AbortSignal,
): Promise<readonly ReceivedMessage[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: MAX_MESSAGES,
    WaitTimeSeconds: 1,
  });
  const { Messages = [] } = await callAws(
    { object: callOf(queueUrl, 'sqs:ReceiveMessage of') },
    signal,
    (abortSignal) => client.send(command, { abortSignal }),
  );
  return Messages.map(({ MessageId = '', ReceiptHandle = '', Body = '' }) => ({
    id: MessageId,
    handle: ReceiptHandle,
    body: Body,
  }));
}

/**
 * Deletes received messages. Tries all.
 *
 * @throws AwsError if some are left: they are received again
 */
export async function deleteMessages(
  client: SQSClient,
  queueUrl: string,
  messages: readonly ReceivedMessage[],
  signal: AbortSignal,
): Promise<void> {
  const object = callOf(queueUrl, 'sqs:DeleteMessage of');
  const errors: unknown[] = [];
  const starts = Array.from({ length: Math.ceil(messages.length / MAX_MESSAGES) }, (_, index) => index * MAX_MESSAGES);
  await forEachInFlight(starts, async (start) => {
    const batch = messages.slice(start, start + MAX_MESSAGES);
    const command = new DeleteMessageBatchCommand({
      QueueUrl: queueUrl,
      Entries: batch.map(({ handle }, index) => ({ Id: String(index), ReceiptHandle: handle })),
    });
    try {
      const { Failed: [first] = [] } = await callAws({ object }, signal, (abortSignal) =>
        client.send(command, { abortSignal }),
      );
      if (first !== undefined)
        errors.push(invalid(object, `a message was not deleted (${printable(first.Code ?? 'refused', 80)})`));
    } catch (error) {
      errors.push(error);
    }
  });
  if (errors.length > 0) throw errors[0];
}

/** {@link IN_FLIGHT} concurrent batches. */
async function forEachInFlight<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

function callOf(queueUrl: string, call = 'sqs:SendMessage to'): string {
  return `${call} ${printable(queueUrl.slice(queueUrl.lastIndexOf('/') + 1))}`;
}

function batchesOf(messages: readonly OrderMessage[]): readonly (readonly OrderMessage[])[] {
  const batches: OrderMessage[][] = [];
  let room = 0;
  for (const message of messages) {
    const size = Buffer.byteLength(message.body);
    const last = batches.at(-1);
    if (last !== undefined && last.length < MAX_MESSAGES && size <= room) last.push(message);
    else {
      batches.push([message]);
      room = MAX_BATCH;
    }
    room -= size;
  }
  return batches;
}

/** One request. @returns the unsent messages */
async function sendBatch(
  client: SQSClient,
  queueUrl: string,
  batch: readonly OrderMessage[],
  signal: AbortSignal,
): Promise<readonly UnsentOrder[]> {
  const command = new SendMessageBatchCommand({
    QueueUrl: queueUrl,
    Entries: batch.map(({ group, deduplicationId, body }, index) => ({
      Id: String(index),
      MessageBody: body,
      MessageGroupId: group,
      MessageDeduplicationId: deduplicationId,
    })),
  });
  try {
    const answer = await callAws({ object: callOf(queueUrl) }, signal, (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    const taken = new Set(answer.Successful?.map(({ Id }) => Id));
    const codes = new Map(answer.Failed?.map(({ Id, Code = 'refused' }) => [Id, printable(Code, 80)]));
    return batch.flatMap(({ group, clusters }, index) => {
      const id = String(index);
      return taken.has(id) ? [] : [{ group, clusters, problem: codes.get(id) ?? 'not answered' }];
    });
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return batch.map(({ group, clusters }) => ({ group, clusters, problem: error.problem }));
  }
}
