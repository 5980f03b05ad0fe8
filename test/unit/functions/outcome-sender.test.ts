import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { invalid, unanswered } from '../../../lambdas/aws/classify.ts';
import { MAX_OUTCOMES, type SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { decodeOutcomes, MAX_MESSAGE_SIZE } from '../../../lambdas/fleet/outcome-message.ts';
import {
  createOutcomeSender,
  MAX_WAIT_MS,
  type OutcomeSenderOptions,
  type SenderSignals,
} from '../../../lambdas/functions/outcome-sender.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { swept, TROUBLE } from '../fleet/values.ts';
import { captureStdout } from '../telemetry/capture-stdout.ts';
import { emfRecords } from '../telemetry/emf.ts';

const never = new AbortController().signal;
const START = Date.parse('2026-11-21T10:00:00Z');
const wait: OutcomeSenderOptions['wait'] = async (ms, signal) =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(resolve, ms);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });

/** As much as an outcome may tell of problems: nearly 40 kB. */
const large = (id: string): SweepOutcome => {
  const problem = { ...TROUBLE, object: 'o'.repeat(3_000), message: 'm'.repeat(3_000), remedy: 'r'.repeat(3_000) };
  return swept({ id, problems: Array.from({ length: 20 }, () => problem), problemCount: 20 });
};

describe('createOutcomeSender', () => {
  let output: ReturnType<typeof captureStdout>;
  let messages: { readonly at: number; readonly ids: readonly string[]; readonly bytes: number }[];
  beforeEach(() => {
    output = captureStdout();
    vi.useFakeTimers({ now: START });
    messages = [];
  });
  afterEach(() => {
    vi.useRealTimers();
    output.restore();
  });

  const metrics = createMetrics('sweep');
  const unsent = () => {
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    return emfRecords(output.text()).flatMap(({ metrics: values }) => values['OutcomesUnsent'] ?? []).length;
  };
  const idsIn = (body: string): readonly string[] =>
    decodeOutcomes(body).map((outcome) => {
      if (!outcome.ok || outcome.value.kind !== 'sweep') throw new Error('no outcome of a sweep');
      return outcome.value.id;
    });

  /** A queue that answers as told, one message after the other. */
  function sender(answer: (ids: readonly string[]) => void = () => undefined, signals: Partial<SenderSignals> = {}) {
    const send: OutcomeSenderOptions['send'] = async (body) => {
      const ids = idsIn(body);
      messages.push({ at: Date.now() - START, ids, bytes: Buffer.byteLength(body) });
      answer(ids);
    };
    const options = { send, wait, logger: createLogger('sweep'), metrics };
    return createOutcomeSender(options, { hurry: never, last: never, ...signals });
  }
  const named = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);
  const sent = () => messages.map(({ at, ids }) => [at, ids.length]);

  it('sends one message for all of a shard', async () => {
    const outcomes = sender();
    for (const id of named(50)) outcomes.add(swept({ id }));
    await vi.advanceTimersByTimeAsync(100);
    expect(messages).toEqual([]);
    await outcomes.flush();
    expect(messages.map(({ ids }) => ids)).toEqual([named(50)]);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS);
    expect(messages).toHaveLength(1);
  });

  it('does not wait when a message is full, and lets those after it wait for their own time', async () => {
    const outcomes = sender();
    for (const id of named(MAX_OUTCOMES))
      outcomes.add(swept({ id, server: undefined, name: undefined, counts: undefined }));
    expect(sent()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_500);
    outcomes.add(swept({ id: 'another' }));
    expect(sent()).toEqual([[1_500, MAX_OUTCOMES]]);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS);
    expect(sent()[1]).toEqual([1_500 + MAX_WAIT_MS, 1]);
    await outcomes.flush();
    expect(sent()).toHaveLength(2);
  });

  it('puts no more into a message than SQS takes', async () => {
    const outcomes = sender();
    for (const id of named(10)) outcomes.add(large(id));
    await outcomes.flush();
    expect(messages.flatMap(({ ids }) => ids)).toEqual(named(10));
    expect(messages.length).toBeGreaterThan(1);
    for (const { bytes } of messages) expect(bytes).toBeLessThanOrEqual(MAX_MESSAGE_SIZE);
  });

  it('lets none wait longer than five seconds for a cluster that hangs', async () => {
    const outcomes = sender();
    await vi.advanceTimersByTimeAsync(1_000);
    outcomes.add(swept({ id: 'a' }));
    await vi.advanceTimersByTimeAsync(4_500);
    outcomes.add(swept({ id: 'b' }));
    await vi.advanceTimersByTimeAsync(400);
    expect(sent()).toEqual([]);
    await vi.advanceTimersByTimeAsync(10_000);
    outcomes.add(swept({ id: 'c' }));
    await vi.advanceTimersByTimeAsync(6_000);
    await outcomes.flush();
    expect(sent()).toEqual([
      [6_000, 2],
      [20_900, 1],
    ]);
  });

  it('sends at once when no time is left to wait', async () => {
    const hurry = new AbortController();
    const outcomes = sender(undefined, { hurry: hurry.signal });
    outcomes.add(swept({ id: 'a' }));
    hurry.abort();
    await vi.advanceTimersByTimeAsync(0);
    outcomes.add(swept({ id: 'b' }));
    await vi.advanceTimersByTimeAsync(0);
    expect(sent()).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await outcomes.flush();
  });

  it('sends each alone when the queue does not take a message, and says what it does not take then', async () => {
    const outcomes = sender((ids) => {
      if (ids.includes('c1')) throw invalid('sqs', 'no');
    });
    for (const id of named(4)) outcomes.add(swept({ id }));
    await outcomes.flush();
    expect(messages.map(({ ids }) => ids)).toEqual([named(4), ['c0'], ['c1'], ['c2'], ['c3']]);
    expect(output.text().match(/"message":"outcome not sent"/g)).toHaveLength(1);
    expect(output.text()).toContain('"cluster":"c1"');
    expect(unsent()).toBe(1);
  });

  it('does not try each alone when the queue is out of reach', async () => {
    const outcomes = sender(() => {
      throw unanswered('sqs', 10_000);
    });
    for (const id of named(3)) outcomes.add(swept({ id }));
    await outcomes.flush();
    expect([messages.length, unsent()]).toEqual([1, 3]);
    for (const id of named(3)) expect(output.text()).toContain(`"cluster":"${id}"`);
  });

  it('never fails because of a bug', async () => {
    const outcomes = sender(() => {
      throw new TypeError('a bug');
    });
    outcomes.add(swept({ id: 'a' }));
    outcomes.add({ ...swept({ id: 'b' }), problems: undefined } as unknown as SweepOutcome);
    await outcomes.flush();
    expect(unsent()).toBe(2);
  });

  it('does not end before everything is sent', async () => {
    const answered = Promise.withResolvers<void>();
    const options = { send: async () => answered.promise, wait, logger: createLogger('sweep'), metrics };
    const outcomes = createOutcomeSender(options, { hurry: never, last: never });
    outcomes.add(swept({ id: 'a' }));
    let ended = false;
    const flushed = outcomes.flush().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ended).toBe(false);
    answered.resolve();
    await flushed;
    expect(ended).toBe(true);
  });

  it('sends every outcome once and within five seconds, whenever it comes', async () => {
    const coming = fc.array(fc.record({ after: fc.nat(3_000), isLarge: fc.boolean() }), { maxLength: 25 });
    const wrong: unknown[] = [];
    await fc.assert(
      fc.asyncProperty(coming, async (arrivals) => {
        messages = [];
        vi.setSystemTime(START);
        const outcomes = sender();
        const added = new Map<string, number>();
        for (const [n, { after, isLarge }] of arrivals.entries()) {
          await vi.advanceTimersByTimeAsync(after);
          added.set(`c${n}`, Date.now() - START);
          outcomes.add(isLarge ? large(`c${n}`) : swept({ id: `c${n}` }));
        }
        await outcomes.flush();
        const ids = messages.flatMap((message) => message.ids);
        const late = messages.flatMap(({ at, ids: each }) =>
          each.filter((id) => at - (added.get(id) ?? Number.NaN) > MAX_WAIT_MS),
        );
        const tooLarge = messages.filter(({ bytes }) => bytes > MAX_MESSAGE_SIZE);
        if (ids.join() !== [...added.keys()].join() || late.length > 0 || tooLarge.length > 0) wrong.push(arrivals);
      }),
      { seed: 5, numRuns: 40 },
    );
    expect(wrong).toEqual([]);
  });
});
