import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError } from '../aws/errors.ts';
import { MAX_BATCH, MAX_MESSAGES } from '../aws/queues.ts';
import type { SweepOutcome } from '../contracts/outcome.ts';
import { encodeOutcome } from '../fleet/outcome-message.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';

/** How long an outcome waits for others: a cluster that hangs must not keep what is known of the rest. Milliseconds. */
export const MAX_WAIT_MS = 2_000;

export interface OutcomeSenderOptions extends Telemetry {
  /** One request. @returns by position why a message is not in the queue. @throws AwsError when none is */
  readonly send: (bodies: readonly string[], signal: AbortSignal) => Promise<readonly (AwsError | undefined)[]>;
  /** Rejects when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface SenderSignals {
  /** No time is left to wait for other outcomes. */
  readonly hurry: AbortSignal;
  /** Ends everything. */
  readonly last: AbortSignal;
}

/**
 * Sends the outcomes of one batch of sweeps with as few requests as possible: when all are there, when a request is full, or when the first of them has waited
 * for {@link MAX_WAIT_MS}. None is lost but with a line in the log and a count, and no sweep fails because of one: the next tells as much.
 */
export interface OutcomeSender {
  /** Never throws. */
  add(outcome: SweepOutcome): void;
  /** No outcome comes after this. Sends what waits, and ends when each was sent or was counted as unsent. Never rejects. */
  flush(): Promise<void>;
}

interface Waiting {
  readonly id: string;
  readonly body: string;
  readonly size: number;
}

/** A sender for one batch. */
export function createOutcomeSender(options: OutcomeSenderOptions, { hurry, last }: SenderSignals): OutcomeSender {
  const { send, wait, logger, metrics } = options;
  const sending: Promise<void>[] = [];
  let waiting: Waiting[] = [];
  let room = 0;
  let sentMeanwhile = new AbortController();

  return {
    add(outcome) {
      try {
        const body = encodeOutcome(outcome);
        const message = { id: outcome.id, body, size: Buffer.byteLength(body) };
        if (message.size > room) sendWaiting();
        if (waiting.length === 0) begin();
        waiting.push(message);
        room -= message.size;
        if (waiting.length === MAX_MESSAGES) sendWaiting();
      } catch (error) {
        unsent(outcome.id, error);
      }
    },
    async flush() {
      sendWaiting();
      await Promise.all(sending);
    },
  };

  function begin(): void {
    room = MAX_BATCH;
    sentMeanwhile = new AbortController();
    const { signal } = sentMeanwhile;
    const sendLater = (): void => {
      if (!signal.aborted) sendWaiting();
    };
    wait(MAX_WAIT_MS, AbortSignal.any([signal, hurry])).then(sendLater, sendLater);
  }

  function sendWaiting(): void {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    sentMeanwhile.abort();
    sending.push(sendAll(batch));
  }

  async function sendAll(batch: readonly Waiting[]): Promise<void> {
    const failed = await sendOnce(batch);
    // One that the queue does not take must not be the end of the others.
    const again = batch.length > 1 ? failed.filter(({ error }) => isOfMessage(error)) : [];
    for (const { message, error } of failed)
      if (!again.some((one) => one.message === message)) unsent(message.id, error);
    const alone = await Promise.all(again.map(async ({ message }) => sendOnce([message])));
    for (const { message, error } of alone.flat()) unsent(message.id, error);
  }

  /** @returns what is not in the queue, and why */
  async function sendOnce(
    batch: readonly Waiting[],
  ): Promise<readonly { readonly message: Waiting; readonly error: unknown }[]> {
    try {
      const errors = await send(
        batch.map(({ body }) => body),
        last,
      );
      return batch.flatMap((message, index) => {
        const error = errors[index];
        return error === undefined ? [] : [{ message, error }];
      });
    } catch (error) {
      return batch.map((message) => ({ message, error }));
    }
  }

  function unsent(cluster: string, error: unknown): void {
    count(metrics, { [METRIC.outcomesUnsent]: 1 });
    logger.error('outcome not sent', { cluster, problem: awsProblem('outcomes', error) });
  }
}

/** Not of the queue, the role or the network, where another try would only take time. */
function isOfMessage(error: unknown): boolean {
  return error instanceof AwsError && error.kind === 'invalid';
}
