import { MAX_MESSAGES, type ReceivedMessage } from '../aws/queues.ts';

/** Concurrent requests. */
const MAX_WIDTH = 8;

export interface DrainOptions {
  /** One request. @returns an empty list when the queue is empty. @throws AwsError */
  readonly receive: (signal: AbortSignal) => Promise<readonly ReceivedMessage[]>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** No round of requests starts beyond these; the rest stays for the next run. */
  readonly most: { readonly messages: number; readonly bytes: number; readonly ms: number };
}

export interface Drained {
  readonly messages: readonly ReceivedMessage[];
  /** Why it ended early. */
  readonly error?: unknown;
}

/**
 * Receives the messages of a queue in rounds of concurrent requests. A full round doubles the next one. Stops when a
 * round is empty, fails, or reaches the bounds. Never rejects.
 */
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
