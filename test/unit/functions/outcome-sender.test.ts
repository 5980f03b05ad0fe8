import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { invalid, unanswered } from '../../../lambdas/aws/classify.ts';
import type { AwsError } from '../../../lambdas/aws/errors.ts';
import { MAX_BATCH, MAX_MESSAGES } from '../../../lambdas/aws/queues.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
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
  let requests: { readonly at: number; readonly ids: readonly string[]; readonly bytes: number }[];
  beforeEach(() => {
    output = captureStdout();
    vi.useFakeTimers({ now: START });
    requests = [];
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
  const idOf = (body: string): string => JSON.parse(body).id;

  /** A queue that answers as told, an outcome after the other. */
  function sender(
    answer: (ids: readonly string[]) => readonly (AwsError | undefined)[] = (ids) => ids.map(() => undefined),
    signals: Partial<SenderSignals> = {},
  ) {
    const send: OutcomeSenderOptions['send'] = async (bodies) => {
      const ids = bodies.map(idOf);
      const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
      requests.push({ at: Date.now() - START, ids, bytes });
      return answer(ids);
    };
    const options = { send, wait, logger: createLogger('sweep'), metrics };
    return createOutcomeSender(options, { hurry: never, last: never, ...signals });
  }
  const named = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);
  const sent = () => requests.map(({ at, ids }) => [at, ids.length]);

  it('sends one request for all', async () => {
    const outcomes = sender();
    for (const id of named(9)) outcomes.add(swept({ id }));
    await vi.advanceTimersByTimeAsync(100);
    expect(requests).toEqual([]);
    await outcomes.flush();
    expect(requests.map(({ ids }) => ids)).toEqual([named(9)]);
    await vi.advanceTimersByTimeAsync(MAX_WAIT_MS);
    expect(requests).toHaveLength(1);
  });

  it('does not wait when a request is full', async () => {
    const outcomes = sender();
    for (const id of named(MAX_MESSAGES + 1)) outcomes.add(swept({ id }));
    expect(sent()).toEqual([[0, MAX_MESSAGES]]);
    await outcomes.flush();
    expect(sent()).toEqual([
      [0, MAX_MESSAGES],
      [0, 1],
    ]);
  });

  it('lets those after a full request wait for their own time', async () => {
    const outcomes = sender();
    for (const id of named(MAX_MESSAGES + 1)) outcomes.add(swept({ id }));
    await vi.advanceTimersByTimeAsync(1_500);
    for (const id of named(MAX_MESSAGES)) outcomes.add(swept({ id }));
    await vi.advanceTimersByTimeAsync(1_500);
    expect(sent()).toEqual([
      [0, 10],
      [1_500, 10],
    ]);
    await vi.advanceTimersByTimeAsync(500);
    expect(sent()).toHaveLength(3);
    await outcomes.flush();
  });

  it('puts no more into a request than SQS takes', async () => {
    const outcomes = sender();
    for (const id of named(10)) outcomes.add(large(id));
    await outcomes.flush();
    expect(requests.flatMap(({ ids }) => ids)).toEqual(named(10));
    expect(requests.length).toBeGreaterThan(1);
    for (const { bytes } of requests) expect(bytes).toBeLessThanOrEqual(MAX_BATCH);
  });

  it('lets none wait longer than two seconds for a cluster that hangs', async () => {
    const outcomes = sender();
    await vi.advanceTimersByTimeAsync(1_000);
    outcomes.add(swept({ id: 'a' }));
    await vi.advanceTimersByTimeAsync(1_500);
    outcomes.add(swept({ id: 'b' }));
    await vi.advanceTimersByTimeAsync(400);
    expect(sent()).toEqual([]);
    await vi.advanceTimersByTimeAsync(5_000);
    outcomes.add(swept({ id: 'c' }));
    await vi.advanceTimersByTimeAsync(3_000);
    await outcomes.flush();
    expect(sent()).toEqual([
      [3_000, 2],
      [9_900, 1],
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

  it('tries once more, alone, what the queue did not take, and says what it does not take then', async () => {
    const refused = invalid('sqs', 'no');
    let tries = 0;
    const outcomes = sender((ids) =>
      ids.map((id) => (id === 'c1' || (id === 'c2' && (tries += 1) === 1) ? refused : undefined)),
    );
    for (const id of named(4)) outcomes.add(swept({ id }));
    await outcomes.flush();
    expect(requests.map(({ ids }) => ids)).toEqual([named(4), ['c1'], ['c2']]);
    expect(output.text().match(/"message":"outcome not sent"/g)).toHaveLength(1);
    expect(output.text()).toContain('"cluster":"c1"');
    expect(unsent()).toBe(1);
  });

  it('tries each alone when the request as a whole is refused, but not when the queue is out of reach', async () => {
    const outcomes = sender((ids) => {
      if (ids.length > 1) throw invalid('sqs', 'no');
      return [undefined];
    });
    for (const id of named(3)) outcomes.add(swept({ id }));
    await outcomes.flush();
    expect([requests.length, unsent()]).toEqual([4, 0]);

    requests = [];
    const other = sender(() => {
      throw unanswered('sqs', 10_000);
    });
    for (const id of named(3)) other.add(swept({ id }));
    await other.flush();
    expect([requests.length, unsent()]).toEqual([1, 3]);
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
    const answered = Promise.withResolvers<readonly undefined[]>();
    const options = { send: async () => answered.promise, wait, logger: createLogger('sweep'), metrics };
    const outcomes = createOutcomeSender(options, { hurry: never, last: never });
    outcomes.add(swept({ id: 'a' }));
    let ended = false;
    const flushed = outcomes.flush().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ended).toBe(false);
    answered.resolve([undefined]);
    await flushed;
    expect(ended).toBe(true);
  });

  it('sends every outcome once and within two seconds, whenever it comes', async () => {
    const coming = fc.array(fc.record({ after: fc.nat(1_500), isLarge: fc.boolean() }), { maxLength: 25 });
    const wrong: unknown[] = [];
    await fc.assert(
      fc.asyncProperty(coming, async (arrivals) => {
        requests = [];
        vi.setSystemTime(START);
        const outcomes = sender();
        const added = new Map<string, number>();
        for (const [n, { after, isLarge }] of arrivals.entries()) {
          await vi.advanceTimersByTimeAsync(after);
          added.set(`c${n}`, Date.now() - START);
          outcomes.add(isLarge ? large(`c${n}`) : swept({ id: `c${n}` }));
        }
        await outcomes.flush();
        const ids = requests.flatMap((request) => request.ids);
        const late = requests.flatMap(({ at, ids: each }) =>
          each.filter((id) => at - (added.get(id) ?? Number.NaN) > MAX_WAIT_MS),
        );
        const tooLarge = requests.filter((one) => one.bytes > MAX_BATCH || one.ids.length > MAX_MESSAGES);
        if (ids.join() !== [...added.keys()].join() || late.length > 0 || tooLarge.length > 0) wrong.push(arrivals);
      }),
      { seed: 5, numRuns: 40 },
    );
    expect(wrong).toEqual([]);
  });
});
