import { randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { inBackground } from '../background.ts';
import type { Clock } from '../clock.ts';
import { createBell } from './bell.ts';
import { md5Hex, type ReceivedMessage, type SimulatedQueue } from './sqs-queue.ts';

/** A function that reports partial failures. */
export type SqsHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse | void>;

export interface EventSourceMappingOptions {
  readonly queue: SimulatedQueue;
  readonly handler: SqsHandler;
  readonly clock: Clock;
  /** Messages a call, at most 10. @default 10 */
  readonly batchSize?: number;
  /** Calls at the same time, from 2. @default 1000 */
  readonly maxConcurrency?: number;
  /** After which Lambda ends a call, in seconds. @default the visibility timeout of the queue */
  readonly timeoutSeconds?: number;
}

/** One call of the function that is over. */
export interface Invocation {
  readonly messageIds: readonly string[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** `crashed`: it threw, or answered what is no batch response; `timed-out`: it was still at work when its time was over. */
  readonly outcome: 'done' | 'crashed' | 'timed-out';
  /** Why it crashed. */
  readonly error?: unknown;
}

export interface EventSourceMapping extends AsyncDisposable {
  /** The last calls, in the order in which they ended. */
  readonly invocations: readonly Invocation[];
}

const MAX_INVOCATIONS = 10_000;

/**
 * What Lambda does between a queue and a function, in this process:
 *
 * - It receives messages, calls the function with them, and deletes those that were dealt with. At most `maxConcurrency` calls run at
 *   the same time. The queue keeps a group from being given out twice; one batch can hold messages of several groups, and several of one.
 * - `ReportBatchItemFailures` is on. Messages named in the response stay as they are: invisible until the visibility timeout of the
 *   queue, and so is their group. An answer that names no message, or one that is not in the batch, fails the whole batch; no answer, or an
 *   empty one, is success.
 * - A call that throws, or runs out of time, fails the whole batch: nothing is deleted, nothing becomes visible earlier.
 *
 * What it does not do: it gathers no batches (a batching window, more than ten messages). It cannot kill. A call that ran out of time goes on running here, though nothing it answers counts. There are no
 * cold starts, no back-off after errors and no ramp-up of pollers; a message is received as soon as it is visible. Deleting needs no
 * network, and never fails; a message whose time ran out before is received again, as it would be.
 *
 * With a stepped clock, what the handler does in real time has to go through `clock.during`.
 *
 * Source: AWS Lambda developer guide, "Using Lambda with Amazon SQS", "Handling errors for an SQS event source".
 *
 * @throws RangeError when Lambda would not take such a mapping.
 */
export function startEventSourceMapping(options: EventSourceMappingOptions): EventSourceMapping {
  const { queue, handler, clock, batchSize = 10, maxConcurrency = 1000 } = options;
  const { timeoutSeconds = queue.visibilityTimeoutSeconds } = options;
  checkOptions(queue, batchSize, maxConcurrency, timeoutSeconds);
  const invocations: Invocation[] = [];
  const running = new Set<Promise<void>>();
  const freed = createBell(clock);

  const run = async (batch: readonly ReceivedMessage[]): Promise<void> => {
    const startedAt = clock.now();
    const { failed, ...result } = await invoke(batch, startedAt + timeoutSeconds * 1000);
    for (const { messageId, receiptHandle } of batch) if (!failed.has(messageId)) queue.delete(receiptHandle);
    const messageIds = batch.map(({ messageId }) => messageId);
    invocations.push({ messageIds, startedAt, endedAt: clock.now(), ...result });
    if (invocations.length > MAX_INVOCATIONS) invocations.splice(0, MAX_INVOCATIONS / 2);
  };

  const invoke = async (batch: readonly ReceivedMessage[], deadline: number): Promise<Result> => {
    const all = new Set(batch.map(({ messageId }) => messageId));
    const enough = new AbortController();
    const timeout = clock.sleep(deadline - clock.now(), enough.signal);
    const answer = (async (): Promise<Result> => {
      const event = { Records: batch.map((message) => recordOf(message, queue)) };
      const context = contextOf(() => deadline - clock.now());
      return { outcome: 'done', failed: failedOf(await handler(event, context), all) };
    })().catch((error: unknown): Result => ({ outcome: 'crashed', error, failed: all }));
    try {
      return await Promise.race([answer, timeout.then((): Result => ({ outcome: 'timed-out', failed: all }))]);
    } finally {
      enough.abort();
      timeout.catch(() => undefined);
    }
  };

  const poller = inBackground(async (signal) => {
    for (;;) {
      while (running.size >= maxConcurrency) await freed.wait(Number.POSITIVE_INFINITY, signal);
      const batch = queue.receive(batchSize);
      if (batch.length === 0) {
        await queue.changed(Number.POSITIVE_INFINITY, signal);
        continue;
      }
      const call = run(batch).finally(() => {
        running.delete(call);
        freed.ring();
      });
      running.add(call);
    }
  });

  return {
    invocations,
    /** Receives nothing more, and waits for the calls that run. */
    async [Symbol.asyncDispose]() {
      await poller.stop();
      await Promise.all(running);
    },
  };
}

interface Result {
  readonly outcome: Invocation['outcome'];
  readonly error?: unknown;
  /** Ids of the messages that stay. */
  readonly failed: ReadonlySet<string>;
}

/**
 * The ids that the response names.
 *
 * @throws Error when it names something else than messages of the batch.
 */
function failedOf(response: SQSBatchResponse | void, batch: ReadonlySet<string>): ReadonlySet<string> {
  const ids = (response?.batchItemFailures ?? []).map(({ itemIdentifier }) => itemIdentifier);
  for (const id of ids)
    if (!batch.has(id)) throw new Error(`the response names ${JSON.stringify(id)}: not in the batch`);
  return new Set(ids);
}

function recordOf({ messageId, receiptHandle, body, attributes }: ReceivedMessage, queue: SimulatedQueue): SQSRecord {
  return {
    messageId,
    receiptHandle,
    body,
    attributes: attributes as unknown as SQSRecord['attributes'],
    messageAttributes: {},
    md5OfBody: md5Hex(body),
    eventSource: 'aws:sqs',
    eventSourceARN: queue.arn,
    awsRegion: queue.region,
  };
}

function contextOf(remaining: () => number): Context {
  const unused = (): never => {
    throw new Error('not in a function that returns a promise');
  };
  return {
    awsRequestId: randomUUID(),
    callbackWaitsForEmptyEventLoop: true,
    functionName: 'simulated',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:eu-central-1:111122223333:function:simulated',
    memoryLimitInMB: '512',
    logGroupName: '/aws/lambda/simulated',
    logStreamName: 'simulated',
    getRemainingTimeInMillis: () => Math.max(0, remaining()),
    done: unused,
    fail: unused,
    succeed: unused,
  };
}

function checkOptions(
  { visibilityTimeoutSeconds }: SimulatedQueue,
  batchSize: number,
  maxConcurrency: number,
  timeout: number,
): void {
  const allowed = [
    [batchSize >= 1 && batchSize <= 10, 'batchSize: 1 to 10'],
    [maxConcurrency >= 2 && maxConcurrency <= 1000, 'maxConcurrency: 2 to 1000'],
    [timeout <= visibilityTimeoutSeconds, 'timeoutSeconds: not longer than the visibility timeout of the queue'],
  ] as const;
  for (const [isAllowed, rule] of allowed) if (!isAllowed) throw new RangeError(rule);
}
