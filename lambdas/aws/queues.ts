import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';

import { printable } from '../printable.ts';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';
import { AwsError } from './errors.ts';

/** The most messages that SendMessageBatch takes (Amazon SQS API reference). */
export const MAX_MESSAGES = 10;
/** Bytes of the bodies of one batch: under the quota of SendMessageBatch, today's and the older one. */
export const MAX_BATCH = 256 * 1024;
/** Batches on their way at once: 10,000 clusters in about ten seconds. */
const IN_FLIGHT = 10;

/** A message for a FIFO queue. */
export interface OrderMessage {
  /** MessageGroupId, at most 128 characters: one message of a group is worked on at a time. */
  readonly group: string;
  /** MessageDeduplicationId, at most 128 characters: the same within five minutes counts once. */
  readonly deduplicationId: string;
  readonly body: string;
  /** How many it is about. */
  readonly clusters: number;
}

/** One message that is not in the queue, and why. */
export interface UnsentOrder {
  readonly group: string;
  readonly clusters: number;
  readonly problem: string;
}

/** Thrown after everything was tried, when some of the messages are not in the queue. */
export class UnsentOrdersError extends Error {
  override readonly name = 'UnsentOrdersError';
  readonly unsent: readonly UnsentOrder[];
  /** How many clusters are in the queue all the same. */
  readonly sent: number;
  readonly remedy = 'The next tick sends them again; if it stays, check that the role of dispatch may sqs:SendMessage.';

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
 * Puts messages into a FIFO queue. All are tried, whatever becomes of the others.
 *
 * @throws UnsentOrdersError that names every message left out
 */
export async function sendOrders(
  client: SQSClient,
  queueUrl: string,
  messages: readonly OrderMessage[],
  signal: AbortSignal,
): Promise<void> {
  const unsent: UnsentOrder[] = [];
  const batches = batchesOf(messages).values();
  const sendAll = async (): Promise<void> => {
    for (const batch of batches) unsent.push(...(await sendBatch(client, queueUrl, batch, signal)));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sendAll));
  if (unsent.length > 0) throw new UnsentOrdersError(unsent, clustersOf(messages) - clustersOf(unsent));
}

/**
 * Puts one message into a standard queue.
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

/**
 * Puts messages into a standard queue with one request.
 *
 * @param bodies at most {@link MAX_MESSAGES}, and together at most {@link MAX_BATCH} bytes
 * @returns by position why a message is not in the queue; undefined where it is
 * @throws AwsError when none is
 */
export async function sendMessages(
  client: SQSClient,
  queueUrl: string,
  bodies: readonly string[],
  signal: AbortSignal,
): Promise<readonly (AwsError | undefined)[]> {
  const [only, ...others] = bodies;
  if (only !== undefined && others.length === 0) {
    await sendMessage(client, queueUrl, only, {}, signal);
    return [undefined];
  }
  const entries = bodies.map((body) => ({ MessageBody: body }));
  const refusals = await sendEntries(client, queueUrl, entries, signal);
  return refusals.map((code) =>
    code === undefined ? undefined : invalid(callOf(queueUrl), `the queue did not take the message (${code})`),
  );
}

function callOf(queueUrl: string): string {
  return `sqs:SendMessage to ${printable(queueUrl.slice(queueUrl.lastIndexOf('/') + 1))}`;
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

async function sendBatch(
  client: SQSClient,
  queueUrl: string,
  batch: readonly OrderMessage[],
  signal: AbortSignal,
): Promise<readonly UnsentOrder[]> {
  const entries = batch.map(({ group, deduplicationId, body }) => ({
    MessageBody: body,
    MessageGroupId: group,
    MessageDeduplicationId: deduplicationId,
  }));
  try {
    const refusals = await sendEntries(client, queueUrl, entries, signal);
    return batch.flatMap(({ group, clusters }, index) => {
      const problem = refusals[index];
      return problem === undefined ? [] : [{ group, clusters, problem }];
    });
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return batch.map(({ group, clusters }) => ({ group, clusters, problem: error.problem }));
  }
}

type Entry = Omit<SendMessageBatchRequestEntry, 'Id'>;

/**
 * One request.
 *
 * @returns by position the code that a message is refused for; undefined where it is in the queue
 * @throws AwsError when none is
 */
async function sendEntries(
  client: SQSClient,
  queueUrl: string,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  const command = new SendMessageBatchCommand({
    QueueUrl: queueUrl,
    Entries: entries.map((entry, index) => ({ Id: String(index), ...entry })),
  });
  const answer = await callAws({ object: callOf(queueUrl) }, signal, (abortSignal) =>
    client.send(command, { abortSignal }),
  );
  const taken = new Set(answer.Successful?.map(({ Id }) => Id));
  const codes = new Map(answer.Failed?.map(({ Id, Code = 'refused' }) => [Id, printable(Code, 80)]));
  return entries.map((_, index) => {
    const id = String(index);
    return taken.has(id) ? undefined : (codes.get(id) ?? 'not answered');
  });
}
