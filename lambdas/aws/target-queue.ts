import { SendMessageBatchCommand, type SQSClient, SQSServiceException } from '@aws-sdk/client-sqs';
import { printable } from '../printable.ts';

/** The most that SendMessageBatch takes (Amazon SQS API reference). */
const BATCH = 10;
/** Batches on their way at once: 10,000 clusters in about ten seconds. */
const IN_FLIGHT = 10;

/** One message for one cluster. */
export interface TargetMessage {
  readonly cluster: string;
  readonly body: string;
}

/** One message that is not in the queue, and why. */
export interface UnsentMessage {
  readonly cluster: string;
  readonly problem: string;
}

/** Thrown after everything was tried, when some of the messages are not in the queue. */
export class TargetQueueError extends Error {
  override readonly name = 'TargetQueueError';
  readonly unsent: readonly UnsentMessage[];
  /** How many are in the queue all the same. */
  readonly sent: number;
  readonly remedy =
    'The next tick sends them again; if it stays, check the permission sqs:SendMessage of the dispatch role.';

  constructor(unsent: readonly UnsentMessage[], sent: number) {
    const named = unsent.slice(0, 10).map(({ cluster, problem }) => `${cluster} (${problem})`);
    const more = unsent.length > named.length ? ` and ${unsent.length - named.length} more` : '';
    super(`${unsent.length} of ${unsent.length + sent} clusters will not be swept: ${named.join(', ')}${more}`);
    this.unsent = unsent;
    this.sent = sent;
  }
}

/**
 * Puts one message for each cluster into the FIFO queue. The group is the cluster, so that no two sweeps of it run at once; the
 * deduplication id is cluster and tick, so that a tick that is delivered twice counts once.
 *
 * @param tick the minute in milliseconds since the epoch, the same for every delivery of it
 * @throws TargetQueueError that names every cluster left out
 */
export async function sendTargets(
  client: SQSClient,
  queueUrl: string,
  messages: readonly TargetMessage[],
  tick: number,
  signal: AbortSignal,
): Promise<void> {
  const unsent: UnsentMessage[] = [];
  const batches = Array.from({ length: Math.ceil(messages.length / BATCH) }, (_, index) =>
    messages.slice(index * BATCH, (index + 1) * BATCH),
  ).values();
  const sendAll = async (): Promise<void> => {
    for (const batch of batches) unsent.push(...(await sendBatch(client, queueUrl, batch, tick, signal)));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sendAll));
  if (unsent.length > 0) throw new TargetQueueError(unsent, messages.length - unsent.length);
}

async function sendBatch(
  client: SQSClient,
  queueUrl: string,
  batch: readonly TargetMessage[],
  tick: number,
  signal: AbortSignal,
): Promise<readonly UnsentMessage[]> {
  const command = new SendMessageBatchCommand({
    QueueUrl: queueUrl,
    Entries: batch.map(({ cluster, body }, index) => ({
      Id: String(index),
      MessageBody: body,
      MessageGroupId: cluster,
      MessageDeduplicationId: `${cluster}:${tick}`,
    })),
  });
  try {
    const { Failed = [] } = await client.send(command, { abortSignal: signal });
    return Failed.map(({ Id, Code }) => ({ cluster: batch[Number(Id)]?.cluster ?? '', problem: Code ?? 'refused' }));
  } catch (error) {
    const problem = error instanceof SQSServiceException ? error.name : printable(String(error));
    return batch.map(({ cluster }) => ({ cluster, problem }));
  }
}
