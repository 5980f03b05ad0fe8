import { once } from 'node:events';
import type { SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SweepCluster } from '../../../lambdas/cluster/minute.ts';
import { encodeOrders, type Order } from '../../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { decodeOutcomes, encodeOutcome } from '../../../lambdas/fleet/outcome-message.ts';
import { createSweepShard, type SweepShardOptions } from '../../../lambdas/functions/sweep-shard.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { decodeOutcome } from '../fleet/decode-outcome.ts';
import { at, auditSummary, DAY, NOW, PARIS, swept, TROUBLE } from '../fleet/values.ts';
import { captureStdout } from '../telemetry/capture-stdout.ts';
import { emfRecords } from '../telemetry/emf.ts';
import { reportOf } from '../telemetry/reports.ts';

const order = (id: string): Order => ({ id, facts: {}, tick: NOW, deadlineMs: 45_000 });

const complete: SweepShardOptions['complete'] = ({ id, tick, deadlineMs, hinted }) => ({
  ok: true,
  value: { target: { ...PARIS, id }, tick, deadlineMs, hinted },
});

function record(body: string, attributes: Readonly<Record<string, string>> = {}): SQSRecord {
  return {
    messageId: 'm-1',
    body,
    eventSource: 'aws:sqs',
    attributes: {
      MessageGroupId: 'default.ordinary.1',
      ApproximateReceiveCount: '1',
      SentTimestamp: `${NOW}`,
      ...attributes,
    },
  } as SQSRecord;
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
  { signal = new AbortController().signal, ...options }: Partial<SweepShardOptions> & { signal?: AbortSignal },
  body: string,
  attributes?: Readonly<Record<string, string>>,
) {
  const metrics = createMetrics('sweep');
  const sweepShard = createSweepShard({
    sweepOne: well,
    complete,
    send: async (sent) => {
      const all = outcomesOf(sent);
      outcomes.push(...all);
      messages.push(all.length);
    },
    wait: async (_, until) => {
      await once(until, 'abort');
    },
    clock: () => NOW,
    logger: createLogger('sweep'),
    metrics,
    ...options,
  });
  await sweepShard({ Records: [record(body, attributes)] }, signal, signal);
  metrics.publishStoredMetrics();
}

const well: SweepCluster = async ({ target: { id } }) => ({
  outcome: swept({ id }),
  report: reportOf({ cluster: id }),
  failures: [],
  journaled: [],
});

const failing: SweepCluster = async ({ target: { id } }) => ({
  outcome: swept({ id, readable: false, complete: false, problems: [TROUBLE], problemCount: 1 }),
  failures: [{ stage: 'approval', error: new Error('a bug') }],
  journaled: [],
});

describe('createSweepShard', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeEach(() => {
    output = captureStdout();
    outcomes.length = 0;
    messages.length = 0;
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
    const sweepOne: SweepCluster = async (one, signal) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return well(one, signal);
    };
    await run({ sweepOne }, encodeOrders(ids.map(order)));
    expect(most).toBe(4);
    expect(sums()).toMatchObject({ SweepsCompleted: 4 });
    expect(outcomes.map(({ id }) => id).toSorted()).toEqual(ids);
    expect(messages).toEqual([4]);
  });

  it.each([
    ['carries out an order of a hint of the last ten seconds', true, 10_000, 1],
    ['drops one that is older, and tells nothing of it: its neighbours wait', true, 10_001, 0],
    ['carries out an order of a tick however long it waited', undefined, 60_000, 1],
  ] as const)('%s', async (_, hinted, age, count) => {
    await run({ clock: () => NOW + age }, encodeOrders([{ ...order('paris'), hinted }]));
    expect(outcomes.map(({ id }) => id)).toEqual(Array.from({ length: count }, () => 'paris'));
  });

  it('acknowledges its message whatever came of a sweep, and tells of it', async () => {
    const sweepOne: SweepCluster = async (one, signal) =>
      one.target.id === 'a' ? failing(one, signal) : well(one, signal);
    await run({ sweepOne }, encodeOrders([order('a'), order('b')]));
    expect(sums()).toMatchObject({ SweepsCompleted: 1, SweepsIncomplete: 1 });
    expect(output.text()).toContain('"message":"sweep failed"');
    expect(output.text()).toContain('a bug');
    expect(outcomes.map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
  });

  it('counts an audit of the sweep, and not what an earlier one saw', async () => {
    const audits = { a: at(), b: at(-DAY) };
    const sweepOne: SweepCluster = async ({ target: { id } }) => ({
      outcome: swept({ id, startedAt: at(), audit: auditSummary({ auditedAt: audits[id as 'a' | 'b'] }) }),
      failures: [],
      journaled: [],
    });
    await run({ sweepOne }, encodeOrders([order('a'), order('b')]));
    expect(sums()).toMatchObject({ Audits: 1 });
    expect(new Set(outcomes.map(({ audit }) => audit?.auditedAt))).toEqual(new Set([at(-DAY), at()]));
  });

  it('counts what was done before a sweep failed, and the sweep once', async () => {
    const report = reportOf({ complete: false, counts: { ...reportOf({}).counts, approved: 3 } });
    const sweepOne: SweepCluster = async (one, signal) => ({ ...(await failing(one, signal)), report });
    await run({ sweepOne }, encodeOrders([order('a')]));
    expect(sums()).toMatchObject({ CsrApproved: 3, SweepsCompleted: 0, SweepsIncomplete: 1 });
    expect(output.text()).toContain('"message":"sweep failed"');
  });

  it('tells of a cluster that cannot be opened', async () => {
    const sweepOne: SweepCluster = async ({ target: { id } }) => ({
      outcome: swept({ id, readable: false, complete: false, problems: [TROUBLE], problemCount: 1 }),
      failures: [],
      journaled: [],
    });
    await run({ sweepOne }, encodeOrders([order('a')]));
    expect(sums()).toMatchObject({ SweepsCompleted: 0, SweepsIncomplete: 1 });
    expect(output.text()).toContain(`"remedy":"${TROUBLE.remedy}"`);
  });

  it.each(['SENTINEL', '{"version":99,"orders":"SENTINEL"}'])('drops the message %s, and counts it', async (body) => {
    const sweepOne = vi.fn<SweepCluster>(well);
    await run({ sweepOne }, body);
    expect(sweepOne).not.toHaveBeenCalled();
    expect([sums(), outcomes]).toEqual([{ MessagesUnreadable: 1 }, []]);
    expect(output.text()).not.toContain('SENTINEL');
  });

  it('makes an outcome of an order that cannot be read, and sweeps its neighbours', async () => {
    const orders = [
      order('a'),
      { ...order('b'), deadlineMs: 'SENTINEL' },
      { target: 'SENTINEL' },
      order('c'),
      order('c'),
    ];
    const sweepOne = vi.fn<SweepCluster>(well);
    await run({ sweepOne }, encodeOrders(orders as Order[]));
    expect(sweepOne.mock.calls.map(([{ target }]) => target.id)).toEqual(['a']);
    expect(sums()).toMatchObject({ SweepsCompleted: 1, MessagesUnreadable: 4 });
    const refused = outcomes.filter(({ untried }) => untried);
    expect(refused.map(({ id, problems }) => [id, problems[0]?.kind, problems[0]?.object])).toEqual([
      ['b', 'message', 'cluster b'],
      ['c', 'message', 'cluster c'],
      ['c', 'message', 'cluster c'],
    ]);
    for (const outcome of refused) expect(decodeOutcome(encodeOutcome(outcome))).toEqual({ ok: true, value: outcome });
    expect(output.text() + JSON.stringify(outcomes)).not.toContain('SENTINEL');
  });

  it('refuses a forged order, and sweeps its neighbours', async () => {
    const problem = { ...TROUBLE, kind: 'order', object: 'cluster a' };
    const refusing: typeof complete = (one, now) =>
      one.holdWrites === 'forged' ? { ok: false, problem } : complete(one, now);
    const sweepOne = vi.fn<SweepCluster>(well);
    await run({ sweepOne, complete: refusing }, encodeOrders([{ ...order('a'), holdWrites: 'forged' }, order('b')]));
    expect(sweepOne.mock.calls.map(([{ target }]) => target.id)).toEqual(['b']);
    expect(sums()).toMatchObject({ SweepsCompleted: 1, MessagesUnreadable: 1 });
    expect(outcomes.find(({ untried }) => untried)).toMatchObject({ id: 'a', readable: false, problems: [problem] });
  });

  it.each([
    ['a message that Lambda gave back because it had no room', '2', 30_000, true],
    ['a message that comes first after a minute', '1', 61_000, true],
    ['no message whose invocation did not end', '2', 90_000, false],
  ])('sweeps %s', async (_, received, age, isSwept) => {
    const sweepOne = vi.fn<SweepCluster>(well);
    const attributes = { ApproximateReceiveCount: received, SentTimestamp: String(NOW - age) };
    await run({ sweepOne }, encodeOrders([order('a')]), attributes);
    expect(sweepOne).toHaveBeenCalledTimes(isSwept ? 1 : 0);
    expect(output.text().includes('"message":"shard not swept again"')).toBe(!isSwept);
  });

  it('does not fail a sweep whose outcome cannot be sent', async () => {
    const send = async () => Promise.reject(new Error('no queue'));
    await run({ send }, encodeOrders([order('a'), { ...order('b'), tick: -1 }]));
    expect(sums()).toMatchObject({ SweepsCompleted: 1, OutcomesUnsent: 2 });
    expect(output.text()).toContain('outcome not sent');
  });
});
