import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { AwsFault } from './aws-fault.ts';
import { createBell } from './bell.ts';
import type { Place } from './service.ts';

export interface QueueOptions extends Place {
  /** Ends with `.fifo` for a FIFO queue. */
  readonly name: string;
  /** @default 30 */
  readonly visibilityTimeoutSeconds?: number;
  /** @default 345600, four days */
  readonly retentionSeconds?: number;
}

export interface NewMessage {
  readonly body: string;
  readonly group?: string;
  readonly deduplicationId?: string;
  readonly delaySeconds?: number;
}

export interface SentMessage {
  readonly messageId: string;
  /** Of a FIFO queue. */
  readonly sequenceNumber?: string;
}

export interface ReceivedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** As SQS names them. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A queue of SQS without the network. */
export interface SimulatedQueue extends Place {
  readonly name: string;
  readonly url: string;
  readonly arn: string;
  readonly isFifo: boolean;
  readonly visibilityTimeoutSeconds: number;
  /** @throws AwsFault when the queue does not take such a message. */
  send(message: NewMessage): SentMessage;
  /** At most ten messages. */
  receive(count: number): readonly ReceivedMessage[];
  /** Deletes a message, unless it was received again since or, in a FIFO queue, its visibility timeout ended. */
  delete(receiptHandle: string): void;
  /**
   * Waits until something changed that can make a message receivable, at most so long.
   *
   * @throws the signal's reason when it is aborted first.
   */
  changed(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** How many messages there are, and how many of them somebody holds. */
  depth(): { readonly messages: number; readonly inFlight: number };
  /** Since the oldest message was sent; 0 without any. Seconds. */
  oldestAge(): number;
}

interface Stored extends NewMessage, SentMessage {
  readonly sentAt: number;
  visibleAt: number;
  receiveCount: number;
  firstReceivedAt?: number;
}

const DEDUPLICATION_MS = 5 * 60_000;
const MAX_BATCH = 10;
const MAX_BODY_BYTES = 1024 * 1024;
const IDENTIFIER = /^[\w!"#$%&'()*+,\-./:;<=>?@[\\\]^`{|}~]{1,128}$/;

/**
 * Messages in the order in which they came. A message that was received is invisible until it is deleted or its visibility timeout
 * ends; in a FIFO queue nothing else of its group is given out meanwhile, except together with it in one receive. What is older than
 * the retention is gone, also while somebody holds it. Deduplication ids are unique within a group. A standard queue keeps the order too, and never delivers twice on its own:
 * tests that need either send twice.
 *
 * Source: Amazon SQS developer guide, "FIFO queue delivery logic", "Exactly-once processing", "Visibility timeout"; SQS API reference.
 */
export function createQueue(origin: string, options: QueueOptions, clock: Clock): SimulatedQueue {
  const { account, region, name, visibilityTimeoutSeconds = 30, retentionSeconds = 345_600 } = options;
  const isFifo = name.endsWith('.fifo');
  // Both in the order of time.
  const messages = new Map<string, Stored>();
  const recent = new Map<string, { readonly sent: SentMessage; readonly until: number }>();
  const bell = createBell(clock);
  let sequence = 0;

  /** Forgets what is over. @returns the time */
  const expire = (): number => {
    const now = clock.now();
    for (const [id, { sentAt }] of messages) {
      if (sentAt + retentionSeconds * 1000 > now) break;
      messages.delete(id);
    }
    for (const [key, { until }] of recent) {
      if (until > now) break;
      recent.delete(key);
    }
    return now;
  };

  const take = (message: Stored, now: number): ReceivedMessage => {
    message.visibleAt = now + visibilityTimeoutSeconds * 1000;
    message.receiveCount += 1;
    message.firstReceivedAt ??= now;
    const { messageId, body, firstReceivedAt } = message;
    return {
      messageId,
      receiptHandle: handleOf(message),
      body,
      attributes: attributesOf(message, firstReceivedAt, account),
    };
  };

  return {
    account,
    region,
    name,
    url: `${origin}/${account}/${name}`,
    arn: `arn:aws:sqs:${region}:${account}:${name}`,
    isFifo,
    visibilityTimeoutSeconds,
    send(message) {
      check(message, isFifo);
      const now = expire();
      const key = JSON.stringify([message.group, message.deduplicationId]);
      const before = isFifo ? recent.get(key) : undefined;
      if (before !== undefined) return before.sent;
      sequence += 1;
      const sent: SentMessage = {
        messageId: randomUUID(),
        ...(isFifo ? { sequenceNumber: String(sequence).padStart(20, '0') } : {}),
      };
      const visibleAt = now + (message.delaySeconds ?? 0) * 1000;
      messages.set(sent.messageId, { ...message, ...sent, sentAt: now, visibleAt, receiveCount: 0 });
      if (isFifo) recent.set(key, { sent, until: now + DEDUPLICATION_MS });
      bell.ring();
      return sent;
    },
    receive(count) {
      const now = expire();
      const inFlight = [...messages.values()].filter((message) => isHeld(message, now));
      const locked = new Set(isFifo ? inFlight.map(({ group }) => group) : []);
      const chosen: Stored[] = [];
      for (const message of messages.values()) {
        if (chosen.length === Math.min(count, MAX_BATCH)) break;
        if (message.visibleAt <= now && !locked.has(message.group)) chosen.push(message);
      }
      return chosen.map((message) => take(message, now));
    },
    delete(receiptHandle) {
      const now = expire();
      const message = messages.get(receiptHandle.replace(/ .*/, ''));
      if (message === undefined || handleOf(message) !== receiptHandle || (isFifo && !isHeld(message, now))) return;
      messages.delete(message.messageId);
      bell.ring();
    },
    changed(milliseconds, signal) {
      const now = expire();
      const invisible = [...messages.values()].filter(({ visibleAt }) => visibleAt > now);
      // A message that is too old frees its group as well.
      const ends = invisible.map(({ visibleAt, sentAt }) => Math.min(visibleAt, sentAt + retentionSeconds * 1000));
      return bell.wait(Math.min(milliseconds, ...ends.map((end) => end - now)), signal);
    },
    depth() {
      const now = expire();
      return { messages: messages.size, inFlight: [...messages.values()].filter((one) => isHeld(one, now)).length };
    },
    oldestAge() {
      const now = expire();
      const [oldest] = messages.values();
      return oldest === undefined ? 0 : (now - oldest.sentAt) / 1000;
    },
  };
}

function isHeld({ receiveCount, visibleAt }: Stored, now: number): boolean {
  return receiveCount > 0 && visibleAt > now;
}

/** Names the message and this one of its receives. */
function handleOf({ messageId, receiveCount }: Stored): string {
  return `${messageId} ${receiveCount}`;
}

/** How errors of SQS are called since the Query protocol. */
export const LEGACY = 'AWS.SimpleQueueService';

function check({ body, group, deduplicationId, delaySeconds = 0 }: NewMessage, isFifo: boolean): void {
  if (body === '') throw new AwsFault(400, 'MissingParameter', 'The request must contain the parameter MessageBody.');
  if (Buffer.byteLength(body) > MAX_BODY_BYTES) throw invalid('MessageBody', 'Must be shorter than 1048576 bytes.');
  if (!(delaySeconds >= 0 && delaySeconds <= 900))
    throw invalid('DelaySeconds', 'DelaySeconds must be >= 0 and <= 900.');
  if (group !== undefined && !IDENTIFIER.test(group)) throw invalid('MessageGroupId', GROUP_RULE);
  if (deduplicationId !== undefined && !IDENTIFIER.test(deduplicationId))
    throw invalid('MessageDeduplicationId', GROUP_RULE);
  if (!isFifo && deduplicationId !== undefined) throw invalid('MessageDeduplicationId', NOT_FOR_THIS_QUEUE);
  if (!isFifo) return;
  if (group === undefined)
    throw new AwsFault(400, 'MissingParameter', 'The request must contain the parameter MessageGroupId.');
  if (deduplicationId === undefined)
    throw new AwsFault(400, 'InvalidParameterValue', 'The queue should have ContentBasedDeduplication enabled');
  if (delaySeconds !== 0) throw invalid('DelaySeconds', NOT_FOR_THIS_QUEUE);
}

const GROUP_RULE = 'Can only include alphanumeric and punctuation characters. 1 to 128 in length.';
const NOT_FOR_THIS_QUEUE = 'The request include parameter that is not valid for this queue type.';

function invalid(parameter: string, reason: string): AwsFault {
  return new AwsFault(400, 'InvalidParameterValue', `Value for parameter ${parameter} is invalid. Reason: ${reason}`);
}

function attributesOf(message: Stored, firstReceivedAt: number, account: string): Record<string, string> {
  const { sentAt, receiveCount, group, deduplicationId, sequenceNumber } = message;
  return {
    SenderId: account,
    SentTimestamp: String(sentAt),
    ApproximateReceiveCount: String(receiveCount),
    ApproximateFirstReceiveTimestamp: String(firstReceivedAt),
    ...(group === undefined ? {} : { MessageGroupId: group }),
    ...(deduplicationId === undefined ? {} : { MessageDeduplicationId: deduplicationId }),
    ...(sequenceNumber === undefined ? {} : { SequenceNumber: sequenceNumber }),
  };
}

export function md5Hex(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
