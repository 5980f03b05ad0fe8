import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fastClock, type SteppedClock, steppedClock } from '../clock.ts';
import {
  type EventSourceMapping,
  type EventSourceMappingOptions,
  startEventSourceMapping,
} from './event-source-mapping.ts';
import { createQueue, type QueueOptions, type SimulatedQueue } from './sqs-queue.ts';

const START = Date.UTC(2026, 0, 1);
const SECOND = 1000;

let clock: SteppedClock;
const mappings: EventSourceMapping[] = [];

beforeEach(() => {
  clock = steppedClock(START);
});
afterEach(async () => {
  const ended = Promise.all(mappings.splice(0).map((mapping) => mapping[Symbol.asyncDispose]()));
  // Calls that are still at work need time to end.
  await clock.advance(3600 * SECOND);
  await ended;
});

const queueOf = (name: string, options: Partial<QueueOptions> = {}): SimulatedQueue =>
  createQueue(
    'http://127.0.0.1',
    { account: '111122223333', region: 'eu-central-1', name, visibilityTimeoutSeconds: 60, ...options },
    clock,
  );

/** What the function was called with, and when, in seconds since the start. */
type Seen = [second: number, bodies: string];

/** @param handler what the function does after it was seen. */
const start = (
  queue: SimulatedQueue,
  handler: (event: SQSEvent) => Promise<SQSBatchResponse | void>,
  options: Partial<EventSourceMappingOptions> = {},
) => {
  const seen: Seen[] = [];
  const mapping = startEventSourceMapping({
    queue,
    clock,
    handler: (event) => {
      seen.push([(clock.now() - START) / SECOND, event.Records.map(({ body }) => body).join(' ')]);
      return handler(event);
    },
    ...options,
  });
  mappings.push(mapping);
  return { seen, mapping };
};

const sendTo = (queue: SimulatedQueue, group: string, ...bodies: readonly string[]) => {
  for (const body of bodies) queue.send({ body, group, deduplicationId: body });
};
const failing = (...bodies: readonly string[]) => {
  return async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => ({
    batchItemFailures: Records.filter(({ body }) => bodies.includes(body)).map(({ messageId }) => ({
      itemIdentifier: messageId,
    })),
  });
};
const taking = (seconds: number) => () => clock.sleep(seconds * SECOND);

describe('the mapping of a FIFO queue', () => {
  let queue: SimulatedQueue;
  beforeEach(() => {
    queue = queueOf('sweeps.fifo');
  });

  it('gives a function what Lambda gives it', async () => {
    let event: SQSEvent | undefined;
    start(queue, async (given) => void (event = given));
    sendTo(queue, 'berlin', 'one');
    await clock.advance(0);
    expect(event?.Records).toEqual([
      {
        messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        receiptHandle: expect.any(String),
        body: 'one',
        md5OfBody: 'f97c5d29941bfb1b2fdab0874906ab82',
        eventSource: 'aws:sqs',
        eventSourceARN: 'arn:aws:sqs:eu-central-1:111122223333:sweeps.fifo',
        awsRegion: 'eu-central-1',
        messageAttributes: {},
        attributes: {
          SenderId: '111122223333',
          SentTimestamp: String(START),
          ApproximateReceiveCount: '1',
          ApproximateFirstReceiveTimestamp: String(START),
          MessageGroupId: 'berlin',
          MessageDeduplicationId: 'one',
          SequenceNumber: '00000000000000000001',
        },
      },
    ]);
    expect(queue.depth().messages).toBe(0);
  });

  it('mixes groups in a batch of at most ten', async () => {
    const { seen } = start(queue, taking(1));
    for (let index = 0; index < 12; index += 1) sendTo(queue, `g${index}`, `m${index}`);
    await clock.advance(0);
    expect(seen).toEqual([
      [0, 'm0 m1 m2 m3 m4 m5 m6 m7 m8 m9'],
      [0, 'm10 m11'],
    ]);
  });

  it('does not call with a group that is in flight, and calls with the others at once', async () => {
    const { seen } = start(queue, taking(10));
    sendTo(queue, 'a', 'a1');
    await clock.advance(SECOND);
    sendTo(queue, 'a', 'a2');
    sendTo(queue, 'b', 'b1');
    await clock.advance(20 * SECOND);
    expect(seen).toEqual([
      [0, 'a1'],
      [1, 'b1'],
      [10, 'a2'],
    ]);
  });

  it('deletes what did not fail, and brings the rest again after the visibility timeout', async () => {
    const { seen } = start(queue, failing('a2'));
    sendTo(queue, 'a', 'a1', 'a2');
    sendTo(queue, 'b', 'b1');
    await clock.advance(0);
    expect(queue.depth()).toEqual({ messages: 1, inFlight: 1 });
    sendTo(queue, 'a', 'a3');
    await clock.advance(60 * SECOND);
    expect(seen).toEqual([
      [0, 'a1 a2 b1'],
      [60, 'a2 a3'],
    ]);
  });

  it.each<[string, () => Promise<SQSBatchResponse>]>([
    ['throws', () => Promise.reject(new Error('out of memory'))],
    ['names a message of another batch', async () => ({ batchItemFailures: [{ itemIdentifier: 'other' }] })],
    ['names an empty id', async () => ({ batchItemFailures: [{ itemIdentifier: '' }] })],
    ['answers in another form', async () => ({ batchItemFailures: [{ messageId: 'x' }] }) as never],
  ])('brings all again after the visibility timeout when the function %s', async (_, handler) => {
    const { seen, mapping } = start(queue, handler);
    sendTo(queue, 'a', 'a1');
    sendTo(queue, 'b', 'b1');
    await clock.advance(60 * SECOND);
    expect(seen).toEqual([
      [0, 'a1 b1'],
      [60, 'a1 b1'],
    ]);
    expect(mapping.invocations).toMatchObject([
      { outcome: 'crashed', error: expect.any(Error) },
      { outcome: 'crashed' },
    ]);
  });

  it.each<[string, () => Promise<SQSBatchResponse | void>]>([
    ['nothing', async () => undefined],
    ['null', async () => null as never],
    ['no failures', async () => ({ batchItemFailures: [] })],
    ['no list', async () => ({}) as never],
  ])('deletes all when the function answers %s', async (_, handler) => {
    start(queue, handler);
    sendTo(queue, 'a', 'a1');
    await clock.advance(0);
    expect(queue.depth().messages).toBe(0);
  });

  it('gives up a function that takes too long, and ignores what it answers then', async () => {
    const { seen, mapping } = start(queue, taking(50), { timeoutSeconds: 20 });
    sendTo(queue, 'a', 'a1');
    await clock.advance(20 * SECOND);
    expect(mapping.invocations).toMatchObject([{ outcome: 'timed-out', endedAt: START + 20 * SECOND }]);
    await clock.advance(39 * SECOND);
    expect(queue.depth()).toEqual({ messages: 1, inFlight: 1 });
    await clock.advance(SECOND);
    expect(seen.map(([second]) => second)).toEqual([0, 60]);
  });

  it('tells the function how much time is left', async () => {
    const left: number[] = [];
    const handler: EventSourceMappingOptions['handler'] = async (_, context) => {
      left.push(context.getRemainingTimeInMillis());
      await clock.sleep(5 * SECOND);
      left.push(context.getRemainingTimeInMillis());
    };
    mappings.push(startEventSourceMapping({ queue, clock, handler, timeoutSeconds: 20 }));
    sendTo(queue, 'a', 'a1');
    await clock.advance(5 * SECOND);
    expect(left).toEqual([20 * SECOND, 15 * SECOND]);
  });

  it('runs as many calls at the same time as it may, and what is too old meanwhile is never seen', async () => {
    queue = queueOf('short.fifo', { retentionSeconds: 60 });
    const { seen } = start(queue, taking(40), { batchSize: 1, maxConcurrency: 2 });
    for (const group of ['a', 'b', 'c', 'd', 'e']) sendTo(queue, group, `${group}1`);
    await clock.advance(300 * SECOND);
    expect(seen).toEqual([
      [0, 'a1'],
      [0, 'b1'],
      [40, 'c1'],
      [40, 'd1'],
    ]);
    expect(queue.depth().messages).toBe(0);
  });

  it('goes on with a group when what blocked it is too old', async () => {
    queue = queueOf('short.fifo', { retentionSeconds: 40 });
    const { seen } = start(queue, () => Promise.reject(new Error('crash')), { batchSize: 1 });
    sendTo(queue, 'a', 'a1');
    await clock.advance(30 * SECOND);
    sendTo(queue, 'a', 'a2');
    await clock.advance(20 * SECOND);
    expect(seen).toEqual([
      [0, 'a1'],
      [40, 'a2'],
    ]);
  });

  it('waits for the calls that run when it is stopped, and starts none', async () => {
    const { seen, mapping } = start(queue, taking(10));
    sendTo(queue, 'a', 'a1', 'a2');
    await clock.advance(SECOND);
    const ended = mapping[Symbol.asyncDispose]();
    sendTo(queue, 'b', 'b1');
    await clock.advance(10 * SECOND);
    await ended;
    expect(seen).toEqual([[0, 'a1 a2']]);
    expect(queue.depth()).toEqual({ messages: 1, inFlight: 0 });
  });

  it('never calls with one group twice at once, nor out of its order, whatever fails', async () => {
    const step = fc.record({
      group: fc.constantFrom('a', 'b', 'c'),
      takes: fc.integer({ min: 0, max: 15 }),
      pause: fc.integer({ min: 0, max: 10 }),
      ends: fc.constantFrom('well', 'fails', 'throws'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        clock = steppedClock(START);
        queue = queueOf('random.fifo', { visibilityTimeoutSeconds: 20 });
        const busy = new Set<string>();
        const done: string[] = [];
        const tries = new Map<string, number>();
        const mapping = startEventSourceMapping({
          queue,
          clock,
          batchSize: 2,
          maxConcurrency: 2,
          handler: async ({ Records }) => {
            const groups = new Set(Records.map(({ attributes }) => attributes.MessageGroupId ?? ''));
            for (const group of groups) expect(busy.has(group)).toBe(false);
            for (const group of groups) busy.add(group);
            const asked = Records.map(({ body }) => steps[Number(body)]);
            await clock.sleep(Math.max(...asked.map((one) => one?.takes ?? 0)) * SECOND);
            for (const group of groups) busy.delete(group);
            // Each goes wrong once.
            const wrong = Records.filter(({ body }, index) => {
              tries.set(body, (tries.get(body) ?? 0) + 1);
              return tries.get(body) === 1 && asked[index]?.ends !== 'well';
            });
            if (wrong.some(({ body }) => steps[Number(body)]?.ends === 'throws')) throw new Error('crash');
            // As a function does that keeps the order: what follows a failure in its group fails too.
            const bad = Records.filter(({ attributes }, index) =>
              wrong.some(
                (one) => one.attributes.MessageGroupId === attributes.MessageGroupId && Records.indexOf(one) <= index,
              ),
            );
            done.push(...Records.filter((one) => !bad.includes(one)).map(({ body }) => body));
            return { batchItemFailures: bad.map(({ messageId }) => ({ itemIdentifier: messageId })) };
          },
        });
        for (const [index, { group, pause }] of steps.entries()) {
          sendTo(queue, group, String(index));
          await clock.advance(pause * SECOND);
        }
        await clock.advance(3600 * SECOND);
        await mapping[Symbol.asyncDispose]();
        for (const group of ['a', 'b', 'c']) {
          const sent = steps.flatMap((one, index) => (one.group === group ? [index] : []));
          expect(done.map(Number).filter((index) => steps[index]?.group === group)).toEqual(sent);
        }
      }),
      { seed: 1, numRuns: 60 },
    );
  });
});

describe('the mapping of a standard queue', () => {
  const send = (queue: SimulatedQueue, ...bodies: readonly string[]) => {
    for (const body of bodies) queue.send({ body });
  };

  it('calls at once', async () => {
    const queue = queueOf('outcomes');
    const { seen } = start(queue, taking(10));
    send(queue, 'one');
    await clock.advance(SECOND);
    send(queue, 'two', 'three');
    await clock.advance(SECOND);
    expect(seen).toEqual([
      [0, 'one'],
      [1, 'two three'],
    ]);
  });

  it('brings again what failed', async () => {
    const queue = queueOf('outcomes');
    const { seen } = start(queue, failing('b'));
    send(queue, 'a', 'b');
    await clock.advance(60 * SECOND);
    expect(seen).toEqual([
      [0, 'a b'],
      [60, 'b'],
    ]);
  });
});

describe('a mapping', () => {
  it.each<[string, string, Partial<EventSourceMappingOptions>]>([
    ['a batch of 11', 'a.fifo', { batchSize: 11 }],
    ['one call at a time', 'a', { maxConcurrency: 1 }],
    ['a function that may take longer than its messages are invisible', 'a', { timeoutSeconds: 61 }],
  ])('cannot have %s', (_, name, options) => {
    expect(() => start(queueOf(name), async () => undefined, options)).toThrow(RangeError);
  });

  it('works by real time too', async () => {
    const real = fastClock(START, 1000);
    const place = { account: '111122223333', region: 'eu-central-1' };
    const queue = createQueue('', { ...place, name: 'a.fifo', visibilityTimeoutSeconds: 2 }, real);
    let calls = 0;
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await using _ = startEventSourceMapping({
      queue,
      clock: real,
      handler: async () => {
        calls += 1;
        if (calls === 1) throw new Error('once');
        finish();
      },
    });
    sendTo(queue, 'a', 'a1');
    await finished;
    expect(calls).toBe(2);
  });
});
