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
  type ReceivedMessage,
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
  readonly WaitTimeSeconds?: number;
  readonly VisibilityTimeout?: number;
  readonly MessageSystemAttributeNames?: readonly string[];
  readonly ReceiptHandle?: string;
  readonly Entries?: readonly SqsInput[];
}

const protocol = awsJson<SqsInput>('1.0');
const MAX_ENTRIES = 10;
const MAX_BATCH_BYTES = 1024 * 1024;

/** Messages of queues over awsJson1.0. Message attributes are not simulated. Source: Amazon SQS API reference. */
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

  const operations: Readonly<Record<string, (queue: SimulatedQueue, input: SqsInput) => unknown>> = {
    SendMessage: send,
    SendMessageBatch: (queue, input) => batch(input, (entry) => send(queue, entry)),
    ReceiveMessage: (queue, input) => receive(queue, input, clock),
    DeleteMessage: (queue, { ReceiptHandle: handle = '' }) => queue.delete(handle),
    DeleteMessageBatch: (queue, input) => batch(input, ({ ReceiptHandle: handle = '' }) => queue.delete(handle)),
    ChangeMessageVisibility: (queue, { ReceiptHandle: handle = '', VisibilityTimeout: seconds = Number.NaN }) =>
      queue.changeVisibility(handle, seconds),
  };

  return {
    createQueue(options) {
      const queue = createQueue(origin, options, clock);
      queues.set(placed(options, options.name), queue);
      return queue;
    },
    protocol,
    permissions: (action) => [action.replace(/Batch$/, '')],
    async handle(action, input, caller) {
      const operation = operations[action];
      if (operation === undefined) throw new AwsFault(400, 'UnsupportedOperation', `Not simulated: ${action}`);
      return protocol.answer((await operation(queueOf(input, caller), input)) ?? {});
    },
  };
}

function send(queue: SimulatedQueue, input: SqsInput) {
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

async function receive(queue: SimulatedQueue, input: SqsInput, clock: Clock) {
  const { MaxNumberOfMessages: count = 1, WaitTimeSeconds: wait = 0, VisibilityTimeout: timeout } = input;
  if (!(count >= 1 && count <= MAX_ENTRIES))
    throw new AwsFault(400, 'InvalidParameterValue', 'Value for parameter MaxNumberOfMessages must be from 1 to 10');
  const end = clock.now() + wait * 1000;
  for (;;) {
    const messages = queue.receive(count, timeout);
    const left = end - clock.now();
    if (messages.length > 0 || left <= 0)
      return messages.length === 0 ? {} : { Messages: messages.map((message) => described(message, input)) };
    await queue.changed(left);
  }
}

function described({ messageId, receiptHandle, body, attributes }: ReceivedMessage, input: SqsInput) {
  const { MessageSystemAttributeNames: wanted = [] } = input;
  const shown = Object.entries(attributes).filter(([name]) => wanted.includes('All') || wanted.includes(name));
  return {
    MessageId: messageId,
    ReceiptHandle: receiptHandle,
    MD5OfBody: md5Hex(body),
    Body: body,
    ...(shown.length === 0 ? {} : { Attributes: Object.fromEntries(shown) }),
  };
}

/** Each entry on its own: what fails does not keep back the others. */
function batch(input: SqsInput, act: (entry: SqsInput) => object | void) {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entriesOf(input)) {
    const Id = entry['Id'];
    try {
      Successful.push({ Id, ...act(entry) });
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
