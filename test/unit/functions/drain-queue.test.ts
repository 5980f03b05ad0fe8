import { describe, expect, it } from 'vitest';
import type { ReceivedMessage } from '../../../lambdas/aws/queues.ts';
import { drainQueue } from '../../../lambdas/functions/drain-queue.ts';
import { awsError } from './memory-objects.ts';

const never = new AbortController().signal;
const MOST = { messages: 1_000, bytes: 1_000_000, ms: 10_000 };
const message = (n: number): ReceivedMessage => ({ id: `m${n}`, handle: `h${n}`, body: 'x'.repeat(100) });

describe('drainQueue', () => {
  /** A queue that gives so many with a request, and whose requests take a second. */
  function queueOf(count: number, perRequest: (request: number) => number = () => 10) {
    const left = Array.from({ length: count }, (_, n) => message(n));
    const widths: number[] = [];
    let requests = 0;
    let now = 0;
    let under = 0;
    return {
      left,
      widths,
      clock: () => now,
      receive: async () => {
        under += 1;
        requests += 1;
        const received = left.splice(0, perRequest(requests));
        await Promise.resolve();
        if (under > 0) {
          widths.push(under);
          now += 1_000;
        }
        under = 0;
        return received;
      },
    };
  }

  it.each([
    [0, [1]],
    [7, [1, 2]],
    [10, [1, 2]],
    [300, [1, 2, 4, 8, 8, 8, 8]],
    [111, [1, 2, 4, 8, 8]],
  ])('receives all of %i messages, in rounds as wide as the last one was full', async (count, widths) => {
    const queue = queueOf(count);
    const { messages, error } = await drainQueue({ ...queue, most: MOST }, never);
    expect(messages.map(({ id }) => id).toSorted()).toEqual(
      Array.from({ length: count }, (_, n) => `m${n}`).toSorted(),
    );
    expect(error).toBeUndefined();
    expect(queue.widths).toEqual(widths);
  });

  it('goes on where SQS gives fewer than there are', async () => {
    const queue = queueOf(40, (request) => (request % 3) + 1);
    const most = { ...MOST, ms: 60_000 };
    expect((await drainQueue({ ...queue, most }, never)).messages).toHaveLength(40);
  });

  it.each([
    ['messages', { ...MOST, messages: 25 }, 30],
    ['bytes', { ...MOST, bytes: 2_500 }, 30],
    ['time', { ...MOST, ms: 2_500 }, 70],
  ])('leaves the rest for the next time when there are enough %s', async (_, most, count) => {
    const queue = queueOf(2_000);
    const { messages, error } = await drainQueue({ ...queue, most }, never);
    expect([messages.length, queue.left.length, error]).toEqual([count, 2_000 - count, undefined]);
  });

  it('keeps what was received when a request fails, and says why it ended', async () => {
    const queue = queueOf(100);
    let requests = 0;
    const receive = async () => {
      requests += 1;
      if (requests === 3) throw awsError('throttled');
      return queue.receive();
    };
    const { messages, error } = await drainQueue({ ...queue, receive, most: MOST }, never);
    expect(messages).toHaveLength(20);
    expect(error).toMatchObject({ kind: 'throttled' });
    const refused = async () => {
      throw awsError('denied');
    };
    expect(await drainQueue({ clock: () => 0, receive: refused, most: MOST }, never)).toMatchObject({
      messages: [],
      error: { kind: 'denied' },
    });
  });
});
