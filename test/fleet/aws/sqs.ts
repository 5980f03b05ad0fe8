import type { Clock } from '../clock.ts';
import { AwsFault } from './aws-fault.ts';
import { awsJson } from './json-protocol.ts';
import { type Caller, placed, type Service } from './service.ts';
import { commonFault } from './service-faults.ts';
import {
  createQueue,
  LEGACY,
  md5Hex,
  type NewMessage,
  type QueueOptions,
  type SentMessage,
  type SimulatedQueue,
} from './sqs-queue.ts';

export interface SimulatedSqs {
  /** Creates a queue. Only its account may use it: queue policies are not simulated. */
  createQueue(options: QueueOptions): SimulatedQueue;
}

/** The members of all operations, and of the entries of a batch. */
interface SqsInput {
  readonly Id?: string;
  readonly QueueUrl?: string;
  readonly MessageBody?: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
  readonly DelaySeconds?: number;
  readonly MaxNumberOfMessages?: number;
  readonly ReceiptHandle?: string;
  readonly Entries?: readonly SqsInput[];
}

const protocol = awsJson<SqsInput>('1.0');
const MAX_ENTRIES = 10;
const MAX_BATCH_BYTES = 1024 * 1024;

/**
 * Sends, receives and deletes messages over awsJson1.0; event sources receive in this process. Every receive looks at the whole queue and answers at once, however long it may wait:
 * who asks holds the clock. Message attributes are not simulated. Source: Amazon SQS API reference.
 */
export function createSqs(origin: string, clock: Clock): SimulatedSqs & Service<SqsInput> {
  const queues = new Map<string, SimulatedQueue>();

  const queueOf = ({ QueueUrl: url = '' }: SqsInput, caller: Caller): SimulatedQueue => {
    const [account = '', name = ''] = url.split('/').slice(-2);
    const queue = queues.get(placed({ account, region: caller.region }, name));
    if (queue !== undefined && account !== caller.account) throw commonFault('sqs', 'denied');
    if (queue !== undefined) return queue;
    const message = 'The specified queue does not exist.';
    throw new AwsFault(400, 'QueueDoesNotExist', message, `${LEGACY}.NonExistentQueue`);
  };

  return {
    createQueue(options) {
      const queue = createQueue(origin, options, clock);
      queues.set(placed(options, options.name), queue);
      return queue;
    },
    protocol,
    permissions: (action) => [action.replace(/Batch$/, '')],
    handle(action, input, caller) {
      const operation = OPERATIONS.get(action);
      if (operation === undefined) throw new AwsFault(400, 'UnsupportedOperation', `Not simulated: ${action}`);
      return protocol.answer(operation(queueOf(input, caller), input));
    },
  };
}

const OPERATIONS: ReadonlyMap<string, (queue: SimulatedQueue, input: SqsInput) => object> = new Map([
  ['SendMessage', send],
  ['SendMessageBatch', (queue, input) => eachOf(input, (entry) => send(queue, entry))],
  ['ReceiveMessage', receive],
  [
    'DeleteMessageBatch',
    (queue, input) =>
      eachOf(input, ({ ReceiptHandle = '' }) => {
        queue.delete(ReceiptHandle);
        return {};
      }),
  ],
]);

function receive(queue: SimulatedQueue, { MaxNumberOfMessages: most = 1 }: SqsInput) {
  if (!(most >= 1 && most <= MAX_ENTRIES)) throw new AwsFault(400, 'InvalidParameterValue', 'MaxNumberOfMessages');
  const received = queue.receive(most);
  if (received.length === 0) return {};
  return {
    Messages: received.map(({ messageId, receiptHandle, body }) => ({
      MessageId: messageId,
      ReceiptHandle: receiptHandle,
      Body: body,
      MD5OfBody: md5Hex(body),
    })),
  };
}

function send(queue: SimulatedQueue, input: SqsInput): object {
  const message = messageOf(input);
  const { messageId, sequenceNumber }: SentMessage = queue.send(message);
  return { MessageId: messageId, MD5OfMessageBody: md5Hex(message.body), SequenceNumber: sequenceNumber };
}

function messageOf(input: SqsInput): NewMessage {
  const { MessageBody: body = '', MessageGroupId: group, MessageDeduplicationId: id, DelaySeconds: delay } = input;
  return {
    body,
    ...(group === undefined ? {} : { group }),
    ...(id === undefined ? {} : { deduplicationId: id }),
    ...(delay === undefined ? {} : { delaySeconds: delay }),
  };
}

/** Each entry on its own: what fails does not keep back the others. */
function eachOf(input: SqsInput, work: (entry: SqsInput) => object) {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entriesOf(input)) {
    const { Id } = entry;
    try {
      Successful.push({ Id, ...work(entry) });
    } catch (error) {
      if (!(error instanceof AwsFault)) throw error;
      Failed.push({ Id, Code: error.queryCode, Message: error.message, SenderFault: error.status < 500 });
    }
  }
  return { Successful, Failed };
}

function entriesOf({ Entries: entries = [] }: SqsInput): readonly SqsInput[] {
  const ids = entries.map(({ Id = '' }) => Id);
  const bytes = entries.reduce((sum, { MessageBody = '' }) => sum + Buffer.byteLength(MessageBody), 0);
  if (entries.length === 0) throw batchFault('EmptyBatchRequest');
  if (entries.length > MAX_ENTRIES) throw batchFault('TooManyEntriesInBatchRequest');
  if (new Set(ids).size < ids.length) throw batchFault('BatchEntryIdsNotDistinct');
  if (!ids.every((id) => /^[\w-]{1,80}$/.test(id))) throw batchFault('InvalidBatchEntryId');
  if (bytes > MAX_BATCH_BYTES) throw batchFault('BatchRequestTooLong');
  return entries;
}

function batchFault(code: string): AwsFault {
  return new AwsFault(400, code, `The batch request is refused: ${code}`, `${LEGACY}.${code}`);
}
