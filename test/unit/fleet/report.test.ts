import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { SweepItem } from '../../../lambdas/contracts/order.ts';
import type { SweepOutcome } from '../../../lambdas/contracts/outcome.ts';
import { parseRegistry } from '../../../lambdas/contracts/registry.ts';
import { createTargetsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { outcomesObject } from '../../../lambdas/fleet/outcomes.ts';
import { createReport, type ReportOptions, type TickResult } from '../../../lambdas/fleet/report.ts';
import { ordersKey, outcomesKey, STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import type { FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import { fleet } from '../config/parsing.ts';
import { awsError, type MemoryObjects, memoryObjects } from '../functions/memory-objects.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import {
  at,
  DAY,
  DUBLIN,
  HUB,
  indexed,
  index as indexOf,
  MINUTE,
  NOW,
  PARIS,
  registered,
  registry,
  SECRET,
  swept,
} from './values.ts';

const never = new AbortController().signal;
const LISTED = ['paris', 'rome', 'lost', 'x'];
const FLEET = fleet(
  `version: 1
clusters:
${LISTED.map((id) => `  - { name: ${id}, provider: eks-anywhere, kubeconfigSecret: '${SECRET}' }`).join('\n')}
discovery: [{ accounts: [self] }]`,
);
const EKS = 'eks 111122223333/eu-central-1';
const item = (shard: number): SweepItem => ({ function: 'Hub-Sweep', lane: 'default', tick: NOW, object: 0, shard });
const listed = (...ids: readonly string[]) =>
  registry(...ids.map((id) => registered(id, { target: { ...PARIS, id } })));

describe('report', () => {
  const output = writtenByEachTest();
  // Powertools and the reader of its records hold a time against that of the machine.
  beforeEach(() => vi.useFakeTimers({ now: NOW + 30_000, toFake: ['Date'] }));
  afterEach(() => vi.useRealTimers());

  const pages: FleetHealth[] = [];
  beforeEach(() => pages.splice(0));

  function reporting(state: MemoryObjects, changed: Partial<ReportOptions> = {}) {
    const metrics = createMetrics('report');
    const report = createReport({
      fleet: FLEET,
      targetsOf: createTargetsOf(FLEET, HUB),
      lanes: ['default'],
      monitoring: { alarms: {}, maintenance: [], auditEveryMinutes: 15 },
      state,
      sources: ['fleet.yaml', EKS],
      askedSources: [EKS],
      async *discover() {
        yield { source: EKS, ok: true, clusters: [{ id: DUBLIN.id, target: DUBLIN }] };
      },
      publish: async (health) => {
        pages.push(health);
      },
      clock: Date.now,
      logger: createLogger('report'),
      metrics,
      ...changed,
    });
    return async (result: Partial<TickResult> = {}) => {
      const signals = { discovery: never, all: never };
      try {
        await report({ tick: NOW, shards: [], outcomes: [], ...result }, signals);
      } finally {
        metrics.publishStoredMetrics();
      }
    };
  }

  /** As the sweeps of a tick write them. */
  async function write(
    state: MemoryObjects,
    outcomes: readonly SweepOutcome[],
    shard: number | string = 0,
    tick = NOW,
  ) {
    await state.put(outcomesKey('default', tick, shard), outcomesObject(outcomes), undefined, never);
  }

  const stored = (...ids: readonly string[]) => memoryObjects({ [STATE_KEYS.registry]: listed(...ids) });
  const indexIn = (state: MemoryObjects) => parseFleetIndex(state.objects.get(STATE_KEYS.index)?.value, Date.now());
  const registryIn = (state: MemoryObjects) => parseRegistry(state.objects.get(STATE_KEYS.registry)?.value, Date.now());
  const published = () => output.records();
  const beats = () => published().flatMap(({ metrics }) => metrics['OutcomesFolded'] ?? []);
  /** Of the fleet. */
  const measured = () => published().find(({ dimensions }) => Object.keys(dimensions).length === 1)?.metrics;
  const kinds = (state: MemoryObjects) => indexIn(state)?.problems.map(({ kind, object }) => [kind, object]);

  it('discovers in the first minute, and measures nothing: nobody knows the fleet', async () => {
    const state = memoryObjects();
    await reporting(state)();
    expect(Object.keys(registryIn(state)?.clusters ?? {})).toEqual([DUBLIN.id, ...LISTED].toSorted());
    expect(measured()).toBeUndefined();
    expect(pages).toEqual([]);
  });

  it('folds the outcomes of this tick and the last one, and measures the fleet at the time of the tick', async () => {
    const lost = registered('lost', { target: { ...PARIS, id: 'lost' }, foundAt: at(-5 * MINUTE + 30_000) });
    const { clusters, ...rest } = listed('paris', 'rome');
    const state = memoryObjects({
      [STATE_KEYS.registry]: { ...rest, clusters: { lost, ...clusters } },
      [STATE_KEYS.index]: indexOf(),
    });
    await write(state, [swept()]);
    await write(state, [swept({ id: 'rome', startedAt: at(-5_000), readable: false })], 3, NOW - MINUTE);
    await write(state, [swept({ id: 'lost' })], 0, NOW - 2 * MINUTE);
    await reporting(state)({ shards: [item(0)], outcomes: [{}] });
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris', 'rome']);
    expect(measured()).toMatchObject({
      OutcomesFolded: [2],
      OldestSweep: [300],
      ClustersUnreadable: [1],
    });
    expect(output.text()).toContain('"oldestSweeps":[{"id":"lost","ageSeconds":300}');
    const times = output
      .text()
      .split('\n')
      .filter((line) => line.includes('"_aws"'))
      .map((line) => JSON.parse(line)['_aws'].Timestamp);
    expect(new Set(times)).toEqual(new Set([NOW]));
    expect(pages).toHaveLength(1);
  });

  it('folds what was not heard while reports are missing, ten minutes back', async () => {
    const state = memoryObjects({
      [STATE_KEYS.registry]: listed(...LISTED),
      [STATE_KEYS.index]: { ...indexOf(), reported: NOW - 60 * MINUTE },
    });
    await write(state, [swept({ id: 'paris' })], 0, NOW - 10 * MINUTE);
    await write(state, [swept({ id: 'rome' })], 0, NOW - 11 * MINUTE);
    await reporting(state)();
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris']);
  });

  it('beats in a fleet that is empty, and not when no sweep tells of anything: silence rings', async () => {
    await reporting(memoryObjects({ [STATE_KEYS.registry]: registry() }))();
    expect(beats()).toEqual([0]);
    await reporting(stored('paris'))();
    expect(beats()).toEqual([0]);
    expect(measured()).toHaveProperty('OldestSweep');
  });

  it('drops what is no outcome, and what is of another lane, and folds the rest', async () => {
    const state = memoryObjects({
      [STATE_KEYS.registry]: registry(
        registered('paris', { target: PARIS }),
        registered(DUBLIN.id, { target: DUBLIN, source: EKS }),
      ),
      [outcomesKey('vpc', NOW, 0)]: outcomesObject([swept({ id: 'paris' })]),
      [outcomesKey('default', NOW, 7)]: 'SENTINEL',
      [outcomesKey('default', NOW, 8)]: { version: 2, outcomes: ['SENTINEL', swept({ id: DUBLIN.id })] },
    });
    await reporting(state, { lanes: ['default', 'vpc'] })();
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual([DUBLIN.id]);
    expect(measured()).toMatchObject({ OutcomesUnreadable: [3], OutcomesFolded: [1] });
    expect(output.text()).not.toContain('SENTINEL');
  });

  it('halves a shard that began and did not end, and says when it is one cluster', async () => {
    const state = stored('paris', 'rome');
    const orders = (ids: readonly string[]) => ids.map((id) => ({ id, facts: {}, tick: NOW, deadlineMs: 45_000 }));
    const shards = [
      { shard: 0, orders: orders(['paris', 'rome']) },
      { shard: 1, orders: orders(['lost']) },
      { shard: 2, orders: orders(['x']) },
    ];
    await state.put(ordersKey('default', NOW, 0), { version: 5, lane: 'default', tick: NOW, shards }, undefined, never);
    // It wrote its outcomes before it failed.
    await write(state, [swept({ id: 'x' })], 2);
    const error = 'Lambda.Unknown';
    await reporting(state)({ shards: [item(0), item(1), item(2)], outcomes: [{ error }, { error }, { error }] });
    const { paris, rome, lost, ...others } = indexIn(state)?.apart ?? {};
    expect(new Set([paris, rome, lost].map((one) => one?.part)).size).toBe(3);
    expect(others).toEqual({});
    expect(kinds(state)).toContainEqual(['sweep-ended', 'cluster lost']);
  });

  it.each(['NotBegun', 'Lambda.TooManyRequestsException'])('halves nothing that never began: %s', async (error) => {
    const state = stored('paris');
    await reporting(state)({ shards: [item(0), item(1)], outcomes: [{ error }, {}] });
    expect(indexIn(state)?.apart).toEqual({});
    expect(kinds(state)).toEqual([['not-begun', 'sweep']]);
  });

  it('says that no sweep was planned, and measures all the same', async () => {
    const state = stored('paris');
    await reporting(state)({ shards: undefined, outcomes: undefined });
    expect(kinds(state)).toEqual([['plan', 'plan']]);
    expect(measured()).toMatchObject({ OldestSweep: [0], DiscoveryProblems: [1] });
  });

  it('says which findings are accepted for a cluster that the fleet does not have', async () => {
    const state = stored(...LISTED);
    const accept = ['paris', 'pariss'].map((cluster) => ({
      cluster,
      code: 'WeakKey' as const,
      until: at(DAY),
      reason: 'old',
    }));
    await reporting(state, { fleet: { ...FLEET, audit: { ...FLEET.audit, accept } } })();
    expect(indexIn(state)?.problems.filter(({ kind }) => kind === 'accept')).toEqual([
      expect.objectContaining({ object: 'audit.accept of WeakKey', message: 'the fleet has no cluster pariss' }),
    ]);
    expect(measured()).toBeDefined();
    expect(measured()).not.toHaveProperty('DiscoveryProblems');
  });

  it('lists a hundred problems at most, and how many there are', async () => {
    const problem = { kind: 'denied', object: 'o', message: 'no', remedy: 'Let it.' };
    const many = Array.from({ length: 150 }, (_, n) =>
      registered(`c${n}`, { problem: { ...problem, object: `c${n}` } }),
    );
    const state = memoryObjects({ [STATE_KEYS.registry]: registry(...many) });
    await reporting(state)();
    expect(indexIn(state)?.problems).toHaveLength(100);
    expect(kinds(state)?.at(-1)).toEqual(['more', '51 more problems']);
  });

  it('ends when another report wrote first, and publishes nothing', async () => {
    const state = stored('paris');
    await write(state, [swept()]);
    state.before = () => void state.objects.set(STATE_KEYS.index, { value: indexOf(), etag: '"theirs"' });
    await reporting(state)();
    expect([measured(), pages, indexIn(state)?.clusters]).toEqual([undefined, [], {}]);
  });

  it.each([STATE_KEYS.registry, STATE_KEYS.index, outcomesKey('default', NOW, 0)])(
    'fails when %s cannot be read, and writes nothing',
    async (key) => {
      const state = stored('paris');
      await write(state, [swept()]);
      state.broken.add(key);
      const before = [...state.objects];
      await expect(reporting(state)()).rejects.toThrow('unavailable in this test');
      expect([...state.objects]).toEqual(before);
    },
  );

  it.each([{ version: 99 }, 'nonsense', undefined])(
    'writes the damaged state %j anew, and says so once',
    async (value) => {
      const state = memoryObjects({ [STATE_KEYS.index]: value, [STATE_KEYS.registry]: value });
      await reporting(state)();
      expect(indexIn(state)).toMatchObject({ rebuiltAt: at(30_000) });
      expect(registryIn(state)).toMatchObject({ rebuiltAt: at(30_000) });
      await reporting(state)({ tick: NOW + MINUTE });
      expect(output.text().match(/"state rebuilt"/g)).toHaveLength(2);
    },
  );

  it('measures no age of a cluster that a rebuilt index has not heard of, for 20 minutes', async () => {
    const lost = registered('lost', { target: { ...PARIS, id: 'lost' }, foundAt: at(-DAY) });
    const state = memoryObjects({ [STATE_KEYS.registry]: registry(lost), [STATE_KEYS.index]: {} });
    for (const minute of [0, 19, 20]) {
      vi.setSystemTime(NOW + minute * MINUTE + 30_000);
      await reporting(state)({ tick: NOW + minute * MINUTE });
    }
    expect(published().flatMap(({ metrics }) => metrics['OldestSweep'] ?? [])).toEqual([0, 0, 87_630]);
  });

  it('publishes the metrics of a tick once, whoever runs it again', async () => {
    const state = stored('paris');
    await write(state, [swept()]);
    for (const tick of [NOW, NOW, NOW - MINUTE]) await reporting(state)({ tick });
    expect([beats(), indexIn(state)?.reported]).toEqual([[1], NOW]);
  });

  it('is not silenced by a tick far ahead in the index', async () => {
    const state = memoryObjects({
      [STATE_KEYS.registry]: listed('paris'),
      [STATE_KEYS.index]: { ...indexOf(), reported: NOW + 60 * MINUTE },
    });
    await write(state, [swept()]);
    await reporting(state)();
    expect([beats(), indexIn(state)?.reported]).toEqual([[1], NOW]);
  });

  it('asks the sources that are due, and keeps what is there when one fails', async () => {
    const asked: string[] = [];
    const discover: ReportOptions['discover'] = async function* (sources) {
      asked.push(...sources);
      yield* [];
      throw awsError('denied');
    };
    const state = stored('paris');
    await reporting(state, { discover })();
    expect(asked).toEqual([EKS]);
    expect(Object.keys(registryIn(state)?.clusters ?? {})).toEqual(LISTED.toSorted());
    expect(output.text()).toContain('discovery failed');
  });

  it('remembers what the names of an API endpoint resolved to', async () => {
    const endpoint = { at: at(), addresses: ['10.0.0.6'] };
    const state = memoryObjects({
      [STATE_KEYS.registry]: listed('paris'),
      [STATE_KEYS.index]: indexOf(indexed('paris', { endpoint })),
    });
    await reporting(state)();
    expect(registryIn(state)?.clusters['paris']?.endpointAddresses).toEqual({ '10.0.0.6': at() });
  });

  describe('the counts of CSRs', () => {
    const FROM = NOW - 2 * MINUTE;
    const counted = (id = 'paris') =>
      swept({ id, counted: { from: FROM, to: NOW, issued: 3, late: 2, notProvable: 1 } });
    const counting = (maintenance = {}) => {
      const state = memoryObjects({
        [STATE_KEYS.registry]: listed('paris', 'rome'),
        [STATE_KEYS.index]: indexOf(indexed('paris', { countedTo: FROM }), indexed('rome', { countedTo: FROM })),
      });
      return { state, report: reporting(state, maintenance) };
    };
    const sums = () =>
      ['CsrsIssued', 'CsrsLate', 'CsrsNotProvable', 'ClustersNotCounted'].map((name) =>
        published()
          .flatMap(({ metrics }) => metrics[name] ?? [])
          .reduce((sum, value) => sum + value, 0),
      );

    it('are published once, whoever brings them again, and name who was late', async () => {
      const { state, report } = counting();
      await write(state, [counted(), counted('rome'), counted()]);
      await report();
      expect(output.text()).toContain('"most":[{"id":"paris","late":2},{"id":"rome","late":2}]');
      await write(state, [counted()], 'webhook-a');
      await report();
      await report({ tick: NOW + MINUTE });
      expect(sums()).toEqual([6, 4, 2, 0]);
    });

    it('are not published if the index cannot be written', async () => {
      const { state, report } = counting();
      await write(state, [counted()]);
      state.put = async () => Promise.reject(awsError('denied'));
      await expect(report()).rejects.toThrow('denied');
      expect(sums()).toEqual([0, 0, 0, 0]);
    });

    it('are not those of a cluster in maintenance', async () => {
      const maintenance = [{ clusters: ['rome'], when: { from: at(-MINUTE), until: at(60 * MINUTE) } }];
      const { state, report } = counting({ monitoring: { alarms: {}, maintenance, auditEveryMinutes: 15 } });
      await write(state, [counted(), counted('rome')]);
      await report();
      expect(sums()).toEqual([3, 2, 1, 0]);
      expect(indexIn(state)?.clusters['rome']?.countedTo).toBe(NOW);
    });
  });

  describe('the report page', () => {
    it('is made at once, then by the first tick of each five minutes', async () => {
      const state = stored('paris');
      // NOW is a whole ten minutes; the tick of the fifth minute is lost.
      for (const minute of [2, 2, 3, 4, 6, 7, 9, 10, 10, 11]) await reporting(state)({ tick: NOW + minute * MINUTE });
      expect(pages).toHaveLength(3);
    });

    it('is made in the second minute of a new hub: the first has no registry', async () => {
      const state = memoryObjects();
      for (const minute of [2, 3, 4]) {
        await reporting(state)({ tick: NOW + minute * MINUTE });
        expect(pages).toHaveLength(minute === 2 ? 0 : 1);
      }
    });

    it('never fails a report, and is not tried again with each', async () => {
      let tries = 0;
      const publish = async () => {
        tries += 1;
        throw awsError('denied');
      };
      const state = stored('paris');
      for (const minute of [0, 1, 2, 5]) await reporting(state, { publish })({ tick: NOW + minute * MINUTE });
      expect(tries).toBe(2);
      expect(published().flatMap(({ metrics }) => metrics['PagesUnwritten'] ?? [])).toEqual([1, 1]);
    });
  });
});
