import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError } from '../aws/errors.ts';
import { MAX_OUTCOMES, type SweepOutcome } from '../contracts/outcome.ts';
import { encodeOutcome, encodeOutcomes, MAX_MESSAGE_SIZE } from '../fleet/outcome-message.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';

/** How long an outcome waits for others, and so how much a process that is killed loses. Report looks half a minute after the tick. Milliseconds. */
export const MAX_WAIT_MS = 5_000;

/** Bytes of a message for outcomes and the commas after them. */
const ROOM = MAX_MESSAGE_SIZE - Buffer.byteLength(encodeOutcomes([]));

export interface OutcomeSenderOptions extends Telemetry {
  /** @throws AwsError when the message is not in the queue */
  readonly send: (body: string, signal: AbortSignal) => Promise<void>;
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
 * Sends the outcomes of one batch of sweeps in as few messages as possible: when all are there, when a message is full, or when the first of them has waited
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
  readonly encoded: string;
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
      const { id } = outcome;
      try {
        const encoded = encodeOutcome(outcome);
        const size = Buffer.byteLength(encoded) + 1;
        if (size > room || waiting.length === MAX_OUTCOMES) sendWaiting();
        if (waiting.length === 0) begin();
        waiting.push({ id, encoded });
        room -= size;
      } catch (error) {
        unsent(id, error);
      }
    },
    async flush() {
      sendWaiting();
      await Promise.all(sending);
    },
  };

  function begin(): void {
    room = ROOM;
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
    try {
      await send(encodeOutcomes(batch.map(({ encoded }) => encoded)), last);
    } catch (error) {
      // One that the queue does not take must not be the end of the others.
      if (batch.length > 1 && isOfMessage(error)) await Promise.all(batch.map(async (one) => sendAll([one])));
      else for (const { id } of batch) unsent(id, error);
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
