import { MAX_MESSAGES, type ReceivedMessage } from '../aws/queues.ts';

/** Requests at once. */
const MAX_WIDTH = 8;

export interface DrainOptions {
  /** One request. @returns none when none is there. @throws AwsError */
  readonly receive: (signal: AbortSignal) => Promise<readonly ReceivedMessage[]>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** No round of requests begins when one of them is reached: what is left waits for the next time. */
  readonly most: { readonly messages: number; readonly bytes: number; readonly ms: number };
}

export interface Drained {
  readonly messages: readonly ReceivedMessage[];
  /** Why it ended early. */
  readonly error?: unknown;
}

/** Receives what is in a queue, in rounds of requests, each twice as wide as the last one was full, until one finds nothing, one fails, or enough is there. Never rejects. */
export async function drainQueue({ receive, clock, most }: DrainOptions, signal: AbortSignal): Promise<Drained> {
  const messages: ReceivedMessage[] = [];
  const endsAt = clock() + most.ms;
  let bytes = 0;
  let width = 1;
  while (width > 0 && messages.length < most.messages && bytes < most.bytes && clock() < endsAt) {
    const answers = await Promise.allSettled(Array.from({ length: width }, async () => receive(signal)));
    const received = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    messages.push(...received);
    bytes += received.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed !== undefined) return { messages, error: failed.reason };
    width = Math.min(MAX_WIDTH, Math.ceil((2 * received.length) / MAX_MESSAGES));
  }
  return { messages };
}
