import { once } from 'node:events';
import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SweepOneTarget } from '../../../lambdas/cluster/sweep-target.ts';
import { encodeOrder, groupOf } from '../../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { SHORT_DEADLINE_MS } from '../../../lambdas/fleet/deadlines.ts';
import { decodeOutcomes, encodeOutcome } from '../../../lambdas/fleet/outcome-message.ts';
import { createSweepBatch, type SweepBatchOptions } from '../../../lambdas/functions/sweep-batch.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { NOW, PARIS, swept, TROUBLE } from '../fleet/values.ts';
import { captureStdout } from '../telemetry/capture-stdout.ts';
import { emfRecords } from '../telemetry/emf.ts';
import { reportOf } from '../telemetry/reports.ts';

// Waits are shorter here, and remembered.
const waits = vi.hoisted((): number[] => []);
vi.mock('node:timers/promises', async (original) => {
  const { setTimeout: delay, ...others } = await original<typeof import('node:timers/promises')>();
  return {
    ...others,
    setTimeout: async (ms: number, value: unknown, options: object) => {
      waits.push(ms);
      return delay(ms / 100, value, options);
    },
  };
});

function record(id: string, tick = 0, body = bodyOf(id, tick)): SQSRecord {
  return {
    messageId: `${id}-${tick}`,
    body,
    eventSource: 'aws:sqs',
    attributes: { MessageGroupId: groupOf(id) },
  } as SQSRecord;
}

function bodyOf(id: string, tick: number, deadlineMs = 45_000): string {
  return encodeOrder({ target: { ...PARIS, id }, tick, deadlineMs });
}

const outcomes: SweepOutcome[] = [];
/** How many outcomes each had. */
const messages: number[] = [];

function outcomesOf(body: string): readonly SweepOutcome[] {
  return decodeOutcomes(body).map((decoded) => {
    if (!decoded.ok || decoded.value.kind !== 'sweep') throw new Error(`no outcomes of sweeps: ${body}`);
    return decoded.value;
  });
}

async function run(
  { signal = new AbortController().signal, ...options }: Partial<SweepBatchOptions> & { signal?: AbortSignal },
  ...records: SQSRecord[]
) {
  const metrics = createMetrics('sweep');
  const sweepBatch = createSweepBatch({
    sweepOne: well,
    refusal: () => undefined,
    send: async (body) => {
      const sent = outcomesOf(body);
      outcomes.push(...sent);
      messages.push(sent.length);
    },
    wait: async (_, until) => {
      await once(until, 'abort');
    },
    clock: () => NOW,
    logger: createLogger('sweep'),
    metrics,
    ...options,
  });
  const event: SQSEvent = { Records: records };
  const response = await sweepBatch(event, {} as Context, signal, signal);
  metrics.publishStoredMetrics();
  return response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

const well: SweepOneTarget = async ({ target: { id } }) => ({
  outcome: swept({ id }),
  report: reportOf({ cluster: id }),
});

const failing: SweepOneTarget = async ({ target: { id } }) => ({
  outcome: swept({ id, readable: false, complete: false, problems: [TROUBLE], problemCount: 1 }),
  retry: true,
  error: new Error('a bug'),
});

describe('createSweepBatch', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
    outcomes.length = 0;
    messages.length = 0;
    waits.length = 0;
  });
  afterEach(() => output.restore());

  const sums = () =>
    Object.fromEntries(
      Object.entries(emfRecords(output.text())[0]?.metrics ?? {}).map(([name, values]) => [
        name,
        values.reduce((sum, value) => sum + value, 0),
      ]),
    );

  it('sweeps all clusters at once, and sends the outcome of each', async () => {
    let running = 0;
    let most = 0;
    const ids = ['a', 'b', 'c', 'd'];
    const sweepOne: SweepOneTarget = async (order, signal) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return well(order, signal);
    };
    expect(await run({ sweepOne }, ...ids.map((id) => record(id)))).toEqual([]);
    expect(most).toBe(4);
    expect(sums()).toMatchObject({ SweepsCompleted: 4, SweepsIncomplete: 0 });
    expect(outcomes.map(({ id }) => id).toSorted()).toEqual(ids);
    expect(messages).toEqual([4]);
  });

  describe('with doubtful clusters', () => {
    const doubtful = (id: string) => record(id, 0, bodyOf(id, 0, SHORT_DEADLINE_MS));
    /** What happens, in order. `sweep` ends each sweep. */
    async function happens(sweep: (id: string) => Promise<void>, records: SQSRecord[], signal?: AbortSignal) {
      const events: string[] = [];
      const sweepOne: SweepOneTarget = async (order, until) => {
        const { id } = order.target;
        events.push(`${id} begins`);
        await sweep(id);
        events.push(`${id} ends`);
        return well(order, until);
      };
      expect(await run({ sweepOne, signal }, ...records)).toEqual([]);
      return events;
    }
    const soon = async () => new Promise<void>((resolve) => void setImmediate(resolve));

    it('sweeps these after the others, all at once', async () => {
      const records = [doubtful('a'), record('b'), doubtful('c'), record('d')];
      expect(await happens(soon, records)).toEqual([
        'b begins',
        'd begins',
        'b ends',
        'd ends',
        'a begins',
        'c begins',
        'a ends',
        'c ends',
      ]);
      expect(outcomes.map(({ id }) => id)).toEqual(['b', 'd', 'a', 'c']);
    });

    it('does not let them wait longer than three seconds for one that hangs', async () => {
      const { promise: end, resolve } = Promise.withResolvers<void>();
      const events = await happens(
        async (id) => {
          if (id === 'hangs') return end;
          await soon();
          resolve();
        },
        [record('hangs'), doubtful('a')],
      );
      expect(events).toEqual(['hangs begins', 'a begins', 'a ends', 'hangs ends']);
      expect(waits).toEqual([3_000]);
    });

    it('does not let them wait when no time is left, nor when there are no others', async () => {
      const { promise: end, resolve } = Promise.withResolvers<void>();
      const sweep = async (id: string) => (id === 'hangs' ? end : resolve());
      const events = await happens(sweep, [record('hangs'), doubtful('a')], AbortSignal.abort());
      expect(events.slice(0, 2)).toEqual(['hangs begins', 'a begins']);
      expect(await happens(soon, [doubtful('a')])).toEqual(['a begins', 'a ends']);
    });

    it('fails their messages as those of others, also after one that failed', async () => {
      expect((await run({ sweepOne: failing }, doubtful('a'), record('b'))).toSorted()).toEqual(['a-0', 'b-0']);
    });

    it('takes a cluster for doubtful whose newest order does', async () => {
      const records = [record('a', 0), record('a', 1, bodyOf('a', 1, SHORT_DEADLINE_MS)), record('b')];
      expect((await happens(soon, records)).slice(0, 2)).toEqual(['b begins', 'b ends']);
    });

    it('waits for nothing where there are none', async () => {
      await happens(soon, [record('a'), record('b')]);
      expect(waits).toEqual([]);
    });
  });

  it('sweeps a cluster once for all its messages, and tells of it once', async () => {
    const sweepOne = vi.fn<SweepOneTarget>(well);
    expect(await run({ sweepOne }, record('a', 1), record('a', 2))).toEqual([]);
    expect(sweepOne).toHaveBeenCalledOnce();
    expect(outcomes).toHaveLength(1);
  });

  it.each([
    [1, 2],
    [2, 1],
  ])('carries out the newest message of a cluster, with what the others look for: %i, %i', async (...ticks) => {
    const sweepOne = vi.fn<SweepOneTarget>(well);
    const order = { target: { ...PARIS, id: 'a' }, deadlineMs: 45_000 };
    const bodies: Readonly<Record<number, string>> = {
      1: encodeOrder({ ...order, tick: 1, lookForClusters: ['eksa-system'] }),
      2: encodeOrder({ ...order, tick: 2, holdWrites: 'same server' }),
    };
    await run({ sweepOne }, ...ticks.map((tick) => record('a', tick, bodies[tick])));
    expect(sweepOne.mock.calls.map(([given]) => given)).toEqual([
      { ...order, tick: 2, holdWrites: 'same server', lookForClusters: ['eksa-system'] },
    ]);
  });

  it('fails all messages of the group that failed, and none of another', async () => {
    const sweepOne: SweepOneTarget = async (order, signal) =>
      order.target.id === 'a' ? failing(order, signal) : well(order, signal);
    expect(await run({ sweepOne }, record('a', 1), record('b'), record('a', 2))).toEqual(['a-1', 'a-2']);
    expect(sums()).toMatchObject({ SweepsCompleted: 1, SweepsIncomplete: 1 });
    expect(output.text()).toContain('"message":"sweep failed"');
    expect(output.text()).toContain('a bug');
    expect(outcomes.map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
  });

  it('counts what was done before a sweep failed, and the sweep once', async () => {
    const report = reportOf({ complete: false, counts: { ...reportOf({}).counts, approved: 3 } });
    const sweepOne: SweepOneTarget = async (order, signal) => ({ ...(await failing(order, signal)), report });
    expect(await run({ sweepOne }, record('a'))).toEqual(['a-0']);
    expect(sums()).toMatchObject({ CsrApproved: 3, SweepsCompleted: 0, SweepsIncomplete: 1 });
    expect(output.text()).toContain('"message":"sweep failed"');
  });

  it('fails a message also when nothing was thrown', async () => {
    const sweepOne: SweepOneTarget = async ({ target: { id } }) => ({ outcome: swept({ id }), retry: true });
    expect(await run({ sweepOne }, record('a'))).toEqual(['a-0']);
  });

  it('answers with the messages even when every one failed', async () => {
    expect(await run({ sweepOne: failing }, record('a'), record('b'))).toEqual(['a-0', 'b-0']);
  });

  it('drops what is no order, and makes a finding of it that report can read', async () => {
    const sweepOne = vi.fn<SweepOneTarget>(well);
    const long = `${'m'.repeat(90)}/${'n'.repeat(60)}`;
    expect(await run({ sweepOne }, record('a', 1, 'SENTINEL'), record(long, 1, '{"version":99}'))).toEqual([]);
    expect(sweepOne).not.toHaveBeenCalled();
    expect(sums()).toEqual({ MessagesUnreadable: 2 });
    expect(output.text()).not.toContain('SENTINEL');
    expect(outcomes.map(({ id }) => id)).toEqual(['a', groupOf(long)]);
    expect(outcomes.map(({ problems }) => problems[0]?.object)).toEqual([
      'cluster a',
      `cluster whose id has the SHA-256 ${groupOf(long)}`,
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        untried: true,
        readable: false,
        problems: [{ kind: 'message' }],
        problemCount: 1,
      });
      expect(decodeOutcomes(encodeOutcome(outcome))).toEqual([{ ok: true, value: outcome }]);
      expect(JSON.stringify(outcome)).not.toContain('SENTINEL');
    }
  });

  it('refuses a forged order, and sweeps its cluster for the honest one and its neighbours as ever', async () => {
    const sweepOne = vi.fn<SweepOneTarget>(well);
    const problem = { ...TROUBLE, kind: 'order', object: 'cluster a' };
    const refusal: SweepBatchOptions['refusal'] = ({ holdWrites }) => (holdWrites === 'forged' ? problem : undefined);
    // The newest one would win.
    const forged = encodeOrder({ target: { ...PARIS, id: 'a' }, tick: 9, deadlineMs: 45_000, holdWrites: 'forged' });
    expect(await run({ sweepOne, refusal }, record('a', 1), record('a', 9, forged), record('b', 1))).toEqual([]);
    expect(sweepOne.mock.calls.map(([{ target, tick }]) => [target.id, tick])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect(sums()).toMatchObject({ SweepsCompleted: 2, MessagesUnreadable: 1 });
    expect(outcomes.find(({ untried }) => untried)).toMatchObject({ id: 'a', readable: false, problems: [problem] });
  });

  it('acknowledges a cluster that cannot be opened', async () => {
    const sweepOne: SweepOneTarget = async ({ target: { id } }) => ({
      outcome: swept({ id, readable: false, complete: false, problems: [TROUBLE], problemCount: 1 }),
    });
    expect(await run({ sweepOne }, record('a'))).toEqual([]);
    expect(sums()).toMatchObject({ SweepsCompleted: 0, SweepsIncomplete: 1 });
    expect(output.text()).toContain(`"remedy":"${TROUBLE.remedy}"`);
  });

  it('does not fail a sweep whose outcome cannot be sent', async () => {
    const send = async () => Promise.reject(new Error('no queue'));
    expect(await run({ send }, record('a'), record('b', 1, 'no order'))).toEqual([]);
    expect(sums()).toMatchObject({ SweepsCompleted: 1, OutcomesUnsent: 2 });
    expect(output.text()).toContain('outcome not sent');
  });
});
