import { describe, expect, it, vi } from 'vitest';
import type { SweepCluster } from '../../../lambdas/cluster/minute.ts';
import { createSweep, NotBegunError, type SweepOptions } from '../../../lambdas/cluster/sweep.ts';
import type { Order } from '../../../lambdas/contracts/order.ts';
import { WEBHOOK_EVERY_MS } from '../../../lambdas/fleet/deadlines.ts';
import { readOutcomes } from '../../../lambdas/fleet/outcomes.ts';
import { ordersKey } from '../../../lambdas/fleet/state-keys.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { at, auditSummary, DAY, MINUTE, NOW, PARIS, swept, TROUBLE, verdictLine } from '../fleet/values.ts';
import { type MemoryObjects, memoryObjects } from '../functions/memory-objects.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import { reportOf } from '../telemetry/reports.ts';

const never = new AbortController().signal;
const ITEM = { function: 'Hub-Sweep', lane: 'default', tick: NOW, object: 0, shard: 1 };
const order = (id: string): Order => ({ id, facts: {}, tick: NOW, deadlineMs: 45_000 });

const complete: SweepOptions['complete'] = ({ id, tick, deadlineMs, holdWrites, rollout }) => ({
  ok: true,
  value: { target: { ...PARIS, id }, tick, deadlineMs, holdWrites, rollout, lookForClusters: ['eksa-system'] },
});

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

function ordered(orders: readonly unknown[], { tick = NOW, shard = 1 } = {}): MemoryObjects {
  const content = { version: 5, lane: 'default', tick, shards: [{ shard, orders }] };
  return memoryObjects({ [ordersKey('default', tick, 0)]: content });
}

function sweeping(state: MemoryObjects, changed: Partial<SweepOptions> = {}) {
  const metrics = createMetrics('sweep');
  const sweep = createSweep({
    lane: 'default',
    complete,
    sweepOne: well,
    state,
    clock: () => NOW,
    logger: createLogger('sweep'),
    metrics,
    ...changed,
  });
  const outcomes = (name: string) => {
    const readings = readOutcomes(state.objects.get(`outcomes/default/2026-11-21T1000/${name}.json.gz`)?.value);
    return readings.map((reading) => (reading.ok ? reading.value : reading.problem));
  };
  return { sweep, outcomes, publish: () => metrics.publishStoredMetrics() };
}

describe('a sweep', () => {
  const output = writtenByEachTest();
  async function run(orders: readonly unknown[], changed: Partial<SweepOptions> = {}) {
    const { sweep, outcomes, publish } = sweeping(ordered(orders), changed);
    await sweep.shard(ITEM, never, never);
    publish();
    return outcomes('1').flatMap((one) => (typeof one === 'string' ? [] : [one]));
  }
  const sums = () =>
    Object.fromEntries(
      Object.entries(output.records()[0]?.metrics ?? {}).map(([name, values]) => [
        name,
        values.reduce((sum, value) => sum + value, 0),
      ]),
    );

  it('sweeps all clusters of its shard at once, and writes one object with their outcomes', async () => {
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
    const outcomes = await run(ids.map(order), { sweepOne });
    expect(most).toBe(4);
    expect(sums()).toMatchObject({ SweepsCompleted: 4 });
    expect(outcomes.map(({ id }) => id)).toEqual(ids);
  });

  it('tells of a sweep that failed, and counts what it did before', async () => {
    const report = reportOf({ complete: false, counts: { ...reportOf({}).counts, approved: 3 } });
    const sweepOne: SweepCluster = async (one, signal) =>
      one.target.id === 'a' ? { ...(await failing(one, signal)), report } : failing(one, signal);
    expect((await run([order('a'), order('b')], { sweepOne })).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(sums()).toMatchObject({ CsrApproved: 3, SweepsCompleted: 0, SweepsIncomplete: 2 });
    expect(output.text().match(/"message":"approval failed"/g)).toHaveLength(2);
    expect(output.text()).toContain('a bug');
  });

  it('tells of a cluster that cannot be opened', async () => {
    await run([order('a')], { sweepOne: async (one, signal) => ({ ...(await failing(one, signal)), failures: [] }) });
    expect(sums()).toMatchObject({ SweepsCompleted: 0, SweepsIncomplete: 1 });
    expect(output.text()).toContain(`"remedy":"${TROUBLE.remedy}"`);
  });

  it('counts an audit of the sweep, and not what an earlier one saw', async () => {
    const audits = { a: at(), b: at(-DAY) };
    const sweepOne: SweepCluster = async ({ target: { id } }) => ({
      outcome: swept({ id, startedAt: at(), audit: auditSummary({ auditedAt: audits[id as 'a' | 'b'] }) }),
      failures: [],
      journaled: [],
    });
    await run([order('a'), order('b')], { sweepOne });
    expect(sums()).toMatchObject({ Audits: 1 });
  });

  it('refuses what it cannot read or carry out, tells whose it was, and sweeps the neighbours', async () => {
    const problem = { ...TROUBLE, kind: 'order', object: 'cluster b' };
    const refusing: typeof complete = (one, now) =>
      one.holdWrites === 'forged' ? { ok: false, problem } : complete(one, now);
    const sweepOne = vi.fn<SweepCluster>(well);
    const orders = [
      order('a'),
      { ...order('b'), holdWrites: 'forged' },
      { ...order('c'), deadlineMs: 'SENTINEL' },
      { target: 'SENTINEL' },
    ];
    const outcomes = await run(orders, { sweepOne, complete: refusing });
    expect(sweepOne.mock.calls.map(([{ target }]) => target.id)).toEqual(['a']);
    expect(sums()).toMatchObject({ SweepsCompleted: 1, OrdersRefused: 3 });
    expect(outcomes.map(({ id, untried, problems }) => [id, untried, problems[0]?.object])).toEqual([
      ['a', undefined, undefined],
      ['b', true, 'cluster b'],
      ['c', true, 'cluster c'],
    ]);
    expect(output.text() + JSON.stringify(outcomes)).not.toContain('SENTINEL');
  });

  it.each<[string, MemoryObjects, Partial<typeof ITEM>]>([
    ['its object is missing', memoryObjects(), {}],
    ['its object is of another lane', memoryObjects(), { lane: 'onprem' }],
    ['its shard is missing', ordered([order('a')]), { shard: 7 }],
    ['its object has 100,000 orders', ordered(Array(100_000).fill(order('a'))), {}],
  ])('does not begin when %s', async (_, state, item) => {
    const sweepOne = vi.fn<SweepCluster>(well);
    const { sweep } = sweeping(state, { sweepOne });
    await expect(sweep.shard({ ...ITEM, ...item }, never, never)).rejects.toThrow(NotBegunError);
    expect(sweepOne).not.toHaveBeenCalled();
  });

  it('is content when another execution wrote the outcomes, and fails when it cannot write', async () => {
    const state = ordered([order('a')]);
    const { sweep, outcomes } = sweeping(state);
    await sweep.shard(ITEM, never, never);
    await sweep.shard(ITEM, never, never);
    expect(outcomes('1')).toHaveLength(1);
    const full = { ...state, put: async () => Promise.reject(new Error('no space')) };
    await expect(sweeping(full).sweep.shard(ITEM, never, never)).rejects.toThrow('no space');
  });
});

describe('a sweep by webhook', () => {
  writtenByEachTest();
  const NAME = 'webhook-ca978112ca1bbdcafac231b39a23dc4d';

  it('carries out the newest order of its cluster, approvals alone, and writes an outcome of its own', async () => {
    const sweepOne = vi.fn<SweepCluster>(well);
    const { sweep, outcomes } = sweeping(ordered([order('b'), { ...order('a'), rollout: true }]), { sweepOne });
    await sweep.cluster('a', never);
    // Nodes ask together: no sweep hides the decisions of another one.
    await Promise.all([sweep.cluster('a', never), sweep.cluster('a', never)]);
    expect(outcomes(NAME)).toMatchObject(Array.from({ length: 3 }, () => ({ id: 'a', byWebhook: true })));
    expect(sweepOne.mock.calls.map(([one]) => one)).toEqual(
      Array.from({ length: 3 }, () => ({
        target: { ...PARIS, id: 'a' },
        tick: NOW,
        deadlineMs: 10_000,
        byWebhook: true,
      })),
    );
  });

  it('lists the CSRs when all that called before the next sweep may start are stored', async () => {
    const done: string[] = [];
    const wait = async (ms: number) => void done.push(`waits ${ms}`);
    const sweepOne: SweepCluster = async (one, signal) => {
      done.push('sweeps');
      return well(one, signal);
    };
    await sweeping(ordered([order('a')]), { sweepOne, wait }).sweep.cluster('a', never);
    const untilStored = 500;
    expect(done).toEqual([`waits ${WEBHOOK_EVERY_MS + untilStored}`, 'sweeps']);
  });

  it.each<[string, MemoryObjects, string, number]>([
    ['an order of two ticks ago', ordered([order('a')], { tick: NOW - 2 * MINUTE }), 'a', 1],
    ['no order of three ticks ago', ordered([order('a')], { tick: NOW - 3 * MINUTE }), 'a', 0],
    ['no order of another cluster', ordered([order('b')]), 'a', 0],
    ['no order that holds writes', ordered([{ ...order('a'), holdWrites: 'doubt' }]), 'a', 0],
    ['no id that looks like a key', ordered([order('a')]), '../a', 0],
  ])('carries out %s', async (_, state, id, calls) => {
    const sweepOne = vi.fn<SweepCluster>(well);
    await sweeping(state, { sweepOne }).sweep.cluster(id, never);
    expect(sweepOne).toHaveBeenCalledTimes(calls);
    expect([...state.objects.keys()].filter((key) => key.startsWith('outcomes/'))).toHaveLength(calls);
  });

  it('takes no older order where the newest cannot be read: that one may hold writes', async () => {
    const older = ordersKey('default', NOW - MINUTE, 0);
    const state = memoryObjects({
      [older]: { version: 5, lane: 'default', tick: NOW - MINUTE, shards: [{ shard: 1, orders: [order('a')] }] },
      [ordersKey('default', NOW, 0)]: {
        version: 5,
        lane: 'default',
        tick: NOW,
        shards: [{ shard: 1, orders: [{ id: 'a', tick: 'now' }] }],
      },
    });
    const sweepOne = vi.fn<SweepCluster>(well);
    await sweeping(state, { sweepOne }).sweep.cluster('a', never);
    expect(sweepOne).not.toHaveBeenCalled();
  });

  it('keeps what a node tried, however many sweeps follow', async () => {
    const hostile = [verdictLine({ hostile: true })];
    let isFirst = true;
    const sweepOne: SweepCluster = async (one, signal) => {
      const { outcome, ...rest } = await well(one, signal);
      const verdicts = isFirst ? hostile : undefined;
      isFirst = false;
      return { ...rest, outcome: { ...outcome, verdicts } };
    };
    const { sweep, outcomes } = sweeping(ordered([order('a')]), { sweepOne });
    for (let n = 0; n < 70; n += 1) await sweep.cluster('a', never);
    expect(outcomes(NAME)).toHaveLength(64);
    expect(outcomes(NAME)[0]).toMatchObject({ verdicts: hostile });
  });
});
