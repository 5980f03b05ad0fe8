import { awsProblem } from '../aws/aws-problem.ts';
import { AwsError } from '../aws/errors.ts';
import { MAX_OUTCOMES, type SweepOutcome } from '../contracts/outcome.ts';
import { encodeOutcome, encodeOutcomes, MAX_MESSAGE_SIZE } from '../fleet/outcome-message.ts';
import { METRIC } from '../telemetry/metric-names.ts';
import { count, type Telemetry } from '../telemetry/telemetry.ts';

/**
 * How long an outcome waits for others, and how much a killed process loses. Report runs half a minute after the tick.
 * Milliseconds.
 */
export const MAX_WAIT_MS = 5_000;

/** Bytes of a message available to outcomes and the commas between them. */
const ROOM = MAX_MESSAGE_SIZE - Buffer.byteLength(encodeOutcomes([]));

export interface OutcomeSenderOptions extends Telemetry {
  /** @throws AwsError when the message is not in the queue */
  readonly send: (body: string, signal: AbortSignal) => Promise<void>;
  /** Rejects when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface SenderSignals {
  /** Send now instead of waiting for more outcomes. */
  readonly hurry: AbortSignal;
  /** Ends everything. */
  readonly last: AbortSignal;
}

/**
 * Sends the outcomes of one batch of sweeps in as few messages as possible: when all are in, when a message is full, or
 * when the first has waited for {@link MAX_WAIT_MS}. A lost outcome is logged and counted, and fails no sweep: the next
 * sweep reports the same.
 */
export interface OutcomeSender {
  /** Never throws. */
  add(outcome: SweepOutcome): void;
  /** The last call. Sends what is left, and resolves when each outcome was sent or counted as unsent. Never rejects. */
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
      // One rejected outcome must not lose the others.
      if (batch.length > 1 && isOfMessage(error)) await Promise.all(batch.map(async (one) => sendAll([one])));
      else for (const { id } of batch) unsent(id, error);
    }
  }

  function unsent(cluster: string, error: unknown): void {
    count(metrics, { [METRIC.outcomesUnsent]: 1 });
    logger.error('outcome not sent', { cluster, problem: awsProblem('outcomes', error) });
  }
}

/** Not an error of the queue, the role or the network, which would repeat. */
function isOfMessage(error: unknown): boolean {
  return error instanceof AwsError && error.kind === 'invalid';
}
