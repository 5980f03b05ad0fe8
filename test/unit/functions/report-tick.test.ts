import type { SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { Outcome } from '../../../lambdas/contracts/outcome.ts';
import { encodeReportStart } from '../../../lambdas/contracts/report-start.ts';
import { encodeOutcome, encodeOutcomes } from '../../../lambdas/fleet/outcome-message.ts';
import { createReportTick, type PageOptions, type ReportOptions } from '../../../lambdas/functions/report-tick.ts';
import type { FleetHealth, Monitoring } from '../../../lambdas/health/fleet-health.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import {
  at,
  DAY,
  DUBLIN,
  dispatched,
  indexed,
  index as indexOf,
  MINUTE,
  NOW,
  PARIS,
  registered,
  registry,
  swept,
} from '../fleet/values.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import { awsError, type MemoryObjects, memoryObjects } from './memory-objects.ts';
import { type MemoryQueue, memoryQueue } from './memory-queue.ts';

const PARIS_REGISTERED = registered(PARIS.id, { target: PARIS });
const never = new AbortController().signal;

describe('createReportTick', () => {
  const output = writtenByEachTest();
  // Powertools and the reader of its records hold a time against that of the machine.
  beforeEach(() => vi.useFakeTimers({ now: NOW, toFake: ['Date'] }));
  afterEach(() => vi.useRealTimers());

  const MONITORING: Monitoring = { alarms: {}, maintenance: [], auditEveryMinutes: 15 };

  /** A bucket, a queue, and a process, which may run several times. */
  function reporting(state: MemoryObjects, changed: Partial<ReportOptions> = {}) {
    const waits: number[] = [];
    const metrics = createMetrics('report');
    const queue = memoryQueue(Date.now);
    const reportTick = createReportTick({
      outcomes: queue,
      state,
      clock: Date.now,
      random: () => 0.5,
      wait: async (ms) => {
        waits.push(ms);
      },
      logger: createLogger('report'),
      metrics,
      monitoring: MONITORING,
      ...changed,
    });
    /** Half a minute after the newest tick, unless it is told. */
    const run = async (starts: readonly (number | string)[], now?: number): Promise<void> => {
      const ticks = starts.filter((start) => typeof start === 'number');
      vi.setSystemTime(now ?? Math.max(NOW, ...ticks) + 30_000);
      const bodies = starts.map((start) => (typeof start === 'number' ? encodeReportStart({ tick: start }) : start));
      try {
        await reportTick({ Records: bodies.map((body, n) => ({ messageId: `s${n}`, body })) } as SQSEvent, never);
      } finally {
        metrics.publishStoredMetrics();
      }
    };
    return { queue, waits, run };
  }

  function send(queue: MemoryQueue, ...bodies: readonly (Outcome | string)[]): void {
    for (const body of bodies) queue.send(typeof body === 'string' ? body : encodeOutcomes([encodeOutcome(body)]));
  }

  /** One run, for the tick at {@link NOW}. */
  async function fold(state: MemoryObjects, bodies: readonly (Outcome | string)[]) {
    const { queue, run, waits } = reporting(state);
    vi.setSystemTime(NOW);
    send(queue, ...bodies);
    await run([NOW]);
    return { queue, waits };
  }
  const indexIn = (state: MemoryObjects) => parseFleetIndex(state.objects.get('fleet-index.json.gz')?.value, NOW);
  const published = () => output.records();
  const times = () =>
    output
      .text()
      .split('\n')
      .filter((line) => line.includes('"_aws"'))
      .map((line) => (JSON.parse(line)['_aws'].Timestamp - NOW) / MINUTE);
  /** How many outcomes were folded, of each time that it was published. */
  const beats = () => published().flatMap(({ metrics }) => metrics['OutcomesFolded'] ?? []);
  /** Of the fleet. */
  const measured = () => published().find(({ dimensions }) => Object.keys(dimensions).length === 1)?.metrics;

  it('folds what waits, deletes it, and measures the fleet', async () => {
    const lost = registered('lost', { target: { ...PARIS, id: 'lost' }, foundAt: at(-5 * MINUTE + 30_000) });
    const state = memoryObjects({
      'registry.json.gz': registry(PARIS_REGISTERED, lost),
      'fleet-index.json.gz': indexOf(),
    });
    const { queue } = await fold(state, [
      dispatched(),
      encodeOutcomes([swept(), swept({ id: DUBLIN.id, readable: false, complete: false })].map(encodeOutcome)),
    ]);
    expect(queue.size).toBe(0);
    const index = indexIn(state);
    expect(Object.keys(index?.clusters ?? {})).toContain('paris');
    expect(index?.dispatch).toMatchObject({ registered: 3 });
    // Dublin is not registered: not a cluster of this fleet.
    expect(measured()).toEqual({
      OutcomesFolded: [3],
      OldestSweep: [300],
      NeverReadFor: [300],
      SweepAge: [300],
      ClustersUnwell: [1],
    });
    expect(published()[0]).toEqual({
      namespace: 'certmarshal',
      dimensions: { service: 'report', Cluster: 'lost' },
      metrics: { NeverReadFor: [300], SweepAge: [300] },
    });
    expect(output.text()).toContain('"oldestSweeps":[{"id":"lost","ageSeconds":300}');
  });

  it('counts registered clusters that could not be read', async () => {
    const state = memoryObjects({ 'registry.json.gz': registry(PARIS_REGISTERED) });
    await fold(state, [swept({ readable: false, complete: false })]);
    expect(measured()).toMatchObject({ ClustersUnreadable: [1] });
  });

  it('measures no age of a cluster that cannot be swept', async () => {
    const state = memoryObjects({ 'registry.json.gz': registry(registered('x', { foundAt: at(-60 * MINUTE) })) });
    await fold(state, [dispatched()]);
    expect(measured()).toMatchObject({ OldestSweep: [0] });
  });

  it('beats in a fleet that is empty', async () => {
    const state = memoryObjects();
    await fold(state, [dispatched({ registered: 0, dispatched: 0 })]);
    expect(measured()).toEqual({ OutcomesFolded: [1], OldestSweep: [0], ClustersUnwell: [0] });
  });

  it('drops what is no outcome, alone and in a list, and folds the rest', async () => {
    const state = memoryObjects();
    const list = encodeOutcomes(['{"SENTINEL":1}', encodeOutcome(dispatched()), '"SENTINEL"']);
    const { queue } = await fold(state, ['SENTINEL', list, swept()]);
    expect(measured()).toMatchObject({ OutcomesUnreadable: [3], OutcomesFolded: [2] });
    expect(output.text()).not.toContain('SENTINEL');
    expect(output.lines().map(({ message, messageId }) => [message, messageId])).toEqual([
      ['message dropped', 'm1'],
      ['message dropped', 'm2'],
      ['message dropped', 'm2'],
      ['registry lost', undefined],
    ]);
    expect(queue.size).toBe(0);
  });

  it('counts all that it drops, and logs the first', async () => {
    await fold(memoryObjects(), [encodeOutcomes(Array<string>(500).fill('7')), swept()]);
    expect(measured()).toMatchObject({ OutcomesUnreadable: [500], OutcomesFolded: [1] });
    expect(output.lines().filter(({ message }) => message === 'message dropped')).toHaveLength(20);
  });

  it('does not beat when nobody tells of anything: silence rings', async () => {
    const state = memoryObjects({ 'registry.json.gz': registry(PARIS_REGISTERED) });
    await fold(state, []);
    expect(measured()).not.toHaveProperty('OutcomesFolded');
    expect(measured()).toHaveProperty('OldestSweep');
    expect(indexIn(state)).toMatchObject({ reported: NOW });
  });

  it('folds again into what another writer wrote meanwhile', async () => {
    const state = memoryObjects();
    state.before = () => {
      state.objects.set('fleet-index.json.gz', {
        value: { version: 1, writtenAt: at(), clusters: {} },
        etag: '"theirs"',
      });
    };
    expect((await fold(state, [swept()])).waits).toEqual([250]);
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris']);
  });

  it('gives its start back after five conflicts, and the outcomes too', async () => {
    const state = memoryObjects();
    let writes = 0;
    state.write = async () => {
      writes += 1;
      throw awsError('conflict');
    };
    const { queue, run } = reporting(state);
    send(queue, swept());
    await expect(run([NOW])).rejects.toThrow('conflict in this test');
    expect(writes).toBe(5);
    expect(queue.size).toBe(1);
  });

  it('gives its start back at once when S3 refuses', async () => {
    const state = memoryObjects();
    state.broken.add('fleet-index.json.gz');
    await expect(fold(state, [swept()])).rejects.toThrow('unavailable in this test');
  });

  it('writes an index that would be too large in fewer words, and says so', async () => {
    const clusters = Array.from({ length: 1_000 }, (_, n) => ({
      namespace: 'n'.repeat(60),
      name: `${'w'.repeat(90)}${n}`,
    }));
    const loud = (n: number) => indexed(`loud-${n}`, { workloadClusters: { readAt: at(), clusters } });
    const many = Array.from({ length: 160 }, (_, n) => loud(n));
    const state = memoryObjects({ 'fleet-index.json.gz': indexOf(...many) });
    await fold(state, [swept()]);
    const written = indexIn(state);
    expect(JSON.stringify(written).length).toBeLessThan(24 * 1024 * 1024);
    const cut = Object.values(written?.clusters ?? {}).filter((cluster) => cluster.cut === true);
    expect(cut.length).toBeGreaterThan(0);
    expect(cut.every(({ id }) => id.startsWith('loud-'))).toBe(true);
    expect(output.text()).toContain('"message":"index cut"');
  });

  it.each([{ version: 99 }, {}, undefined])('writes the damaged index %j anew, and says so once', async (value) => {
    const state = memoryObjects({ 'fleet-index.json.gz': value });
    await fold(state, [swept()]);
    expect(indexIn(state)).toMatchObject({ rebuiltAt: at(30_000), clusters: { paris: {} } });
    await fold(state, [swept()]);
    expect(output.text().match(/"state rebuilt"/g)).toHaveLength(1);
  });

  it('measures no age of a cluster that a rebuilt index has not heard of, for 20 minutes', async () => {
    const lost = registered('lost', { target: { ...PARIS, id: 'lost' }, foundAt: at(-DAY) });
    const state = memoryObjects({ 'registry.json.gz': registry(lost), 'fleet-index.json.gz': {} });
    const { run } = reporting(state);
    const ages = () => published().flatMap(({ metrics }) => metrics['OldestSweep'] ?? []);
    for (const minute of [0, 19, 20]) await run([NOW + minute * MINUTE]);
    expect(ages()).toEqual([0, 0, 87_630]);
    expect(published().flatMap(({ metrics }) => metrics['NeverReadFor'] ?? [])).toEqual([87_630, 87_630]);
  });

  it('says how many clusters of the index it could not read, and keeps the others', async () => {
    const { clusters, ...rest } = indexOf(indexed('rome'));
    const state = memoryObjects({ 'fleet-index.json.gz': { ...rest, clusters: { ...clusters, oslo: 'nonsense' } } });
    await fold(state, [swept()]);
    expect(Object.keys(indexIn(state)?.clusters ?? {}).toSorted()).toEqual(['paris', 'rome']);
    expect(output.text()).toMatch(/"message":"clusters left out of the index".*"count":1/);
    expect(output.text()).not.toContain('state rebuilt');
  });

  it.each([
    ['cannot be read', memoryObjects()],
    ['is damaged', memoryObjects({ 'registry.json.gz': 'nonsense' })],
    ['is no JSON', memoryObjects({ 'registry.json.gz': undefined })],
    ['is lost, and dispatch knows clusters', memoryObjects(), dispatched({ registered: 500 })],
    ['is lost, and dispatch says nothing', memoryObjects(), swept()],
  ])('measures no age when the registry %s: silence rings', async (how, state, outcome: Outcome = swept()) => {
    if (how === 'cannot be read') state.broken.add('registry.json.gz');
    await fold(state, [outcome]);
    expect(measured()).toEqual({ OutcomesFolded: [1] });
    expect(indexIn(state)).toBeDefined();
  });

  it('gives its start back when the outcomes cannot be received: none of them is nothing to say', async () => {
    const receive = async () => {
      throw awsError('denied', 'sqs:ReceiveMessage of outcomes');
    };
    const { queue, run } = reporting(memoryObjects());
    await expect(reporting(memoryObjects(), { outcomes: { ...queue, receive } }).run([NOW])).rejects.toThrow(
      'sqs:ReceiveMessage of outcomes',
    );
    expect(published()).toEqual([]);
    await run([NOW]);
  });

  it('folds what it received when the next request fails, and says so', async () => {
    const state = memoryObjects();
    const queue = memoryQueue(Date.now);
    let requests = 0;
    const receive = async () => {
      requests += 1;
      if (requests > 1) throw awsError('throttled');
      return queue.receive();
    };
    send(queue, swept());
    await reporting(state, { outcomes: { ...queue, receive } }).run([NOW]);
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris']);
    expect([queue.size, beats()]).toEqual([0, [1]]);
    expect(output.text()).toContain('"message":"outcomes left"');
  });

  it('folds again what it could not delete, which changes nothing', async () => {
    const state = memoryObjects();
    const queue = memoryQueue(Date.now);
    let isDenied = true;
    const remove: MemoryQueue['remove'] = async (messages) => {
      if (isDenied) throw awsError('denied');
      return queue.remove(messages);
    };
    send(queue, swept({ id: 'a' }), swept({ id: 'b' }));
    const { run } = reporting(state, { outcomes: { ...queue, remove } });
    await run([NOW]);
    const first = indexIn(state)?.clusters;
    expect(output.text()).toContain('"message":"outcomes not deleted"');
    isDenied = false;
    await run([NOW + MINUTE]);
    expect(indexIn(state)?.clusters).toEqual(first);
    expect([queue.size, beats()]).toEqual([0, [2, 2]]);
  });

  describe('the counts of CSRs', () => {
    const FROM = NOW - 2 * MINUTE;
    const counted = (id = 'paris') =>
      swept({ id, counted: { from: FROM, to: NOW, issued: 3, late: 2, notProvable: 1 } });
    const known = () => indexOf(indexed('paris', { countedTo: FROM }), indexed('rome', { countedTo: FROM }));
    const sums = () =>
      ['CsrsIssued', 'CsrsLate', 'CsrsNotProvable', 'ClustersNotCounted'].map((name) =>
        published()
          .flatMap(({ metrics }) => metrics[name] ?? [])
          .reduce((sum, value) => sum + value, 0),
      );

    it('are published once, whoever brings them again, and name who was late', async () => {
      const state = memoryObjects({ 'fleet-index.json.gz': known() });
      await fold(state, [counted(), counted('rome'), counted()]);
      expect(sums()).toEqual([6, 4, 2, 0]);
      expect(output.text()).toContain('"most":[{"id":"paris","late":2},{"id":"rome","late":2}]');
      await fold(state, [counted()]);
      expect(sums()).toEqual([6, 4, 2, 0]);
    });

    it('are not those that another writer took meanwhile', async () => {
      const state = memoryObjects({ 'fleet-index.json.gz': known() });
      const theirs = indexOf(indexed('paris', { countedTo: NOW - MINUTE }), indexed('rome', { countedTo: FROM }));
      state.before = () => void state.objects.set('fleet-index.json.gz', { value: theirs, etag: '"theirs"' });
      await fold(state, [counted(), counted('rome')]);
      expect(sums()).toEqual([3, 2, 1, 0]);
    });

    it('are not published if the index cannot be written', async () => {
      const state = memoryObjects({ 'fleet-index.json.gz': known() });
      state.write = async () => {
        throw awsError('denied');
      };
      await expect(fold(state, [counted()])).rejects.toThrow('denied');
      expect(published().flatMap(({ metrics }) => Object.keys(metrics))).not.toContain('CsrsLate');
    });

    it('are not those of a cluster in maintenance', async () => {
      const state = memoryObjects({ 'fleet-index.json.gz': known() });
      const maintenance = [{ clusters: ['rome'], when: { from: at(-MINUTE), until: at(60 * MINUTE) } }];
      const { queue, run } = reporting(state, { monitoring: { ...MONITORING, maintenance } });
      send(queue, counted(), counted('rome'));
      await run([NOW]);
      expect(sums()).toEqual([3, 2, 1, 0]);
      expect(indexIn(state)?.clusters['rome']?.countedTo).toBe(NOW);
    });
  });

  describe('the tick', () => {
    const stored = () => memoryObjects({ 'registry.json.gz': registry(PARIS_REGISTERED) });

    it('is the time of all metrics, also of those of clusters, whenever report runs', async () => {
      const lost = registered('lost', { target: { ...PARIS, id: 'lost' }, foundAt: at(-5 * MINUTE) });
      const { run } = reporting(
        memoryObjects({ 'registry.json.gz': registry(lost), 'fleet-index.json.gz': indexOf() }),
      );
      await run([NOW], NOW + 117_000);
      // That of the fleet, and that of the cluster.
      expect(times()).toEqual([0, 0]);
      // What is measured is of now.
      expect(measured()).toMatchObject({ OldestSweep: [417] });
    });

    it('is that of the newest of several starts, which are one run', async () => {
      const state = stored();
      const { queue, run } = reporting(state);
      send(queue, swept());
      await run([NOW - MINUTE, NOW + MINUTE, NOW]);
      expect(times()).toEqual([1]);
      expect(indexIn(state)?.reported).toBe(NOW + MINUTE);
    });

    it.each([
      ['a start that is too old', [NOW - 6 * MINUTE]],
      ['a start far ahead', [NOW + 60 * MINUTE]],
      ['a start that cannot be read', ['SENTINEL']],
      ['no start', []],
    ])('is the present one for %s, which leads to a report all the same', async (_, starts) => {
      const state = stored();
      const { queue, run } = reporting(state);
      send(queue, swept());
      await run(starts, NOW + 2 * MINUTE + 10_000);
      expect([new Set(times()), beats(), queue.size]).toEqual([new Set([2]), [1], 0]);
      expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris']);
      expect(output.text()).not.toContain('SENTINEL');
    });

    it.each([-4, -1, 1, 4])(
      'stays what dispatch says with a clock that is %i minutes from that of report',
      async (skew) => {
        const { queue, run } = reporting(stored());
        send(queue, swept());
        await run([NOW + skew * MINUTE], NOW + 30_000);
        expect(times()).toEqual([skew]);
      },
    );

    it('is told once: whoever comes later for it, or for an older one, folds and writes', async () => {
      const state = stored();
      const { queue, run } = reporting(state);
      send(queue, swept({ id: 'a' }));
      await run([NOW]);
      for (const [n, start] of [NOW, NOW - MINUTE].entries()) {
        send(queue, swept({ id: `later-${n}` }), 'SENTINEL');
        await run([start], NOW + 45_000);
      }
      expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['a', 'later-0', 'later-1']);
      expect([beats(), queue.size, indexIn(state)?.reported]).toEqual([[1], 0, NOW]);
      expect(published().map(({ metrics }) => Object.keys(metrics).length === 1)).toEqual([false, true, true]);
      expect(published()[1]?.metrics).toEqual({ OutcomesUnreadable: [1] });
    });

    it('is told by one of two that run at once', async () => {
      const state = stored();
      const { queue, run } = reporting(state);
      send(queue, swept({ id: 'a' }));
      const other = reporting(state);
      send(other.queue, swept({ id: 'b' }));
      await Promise.all([run([NOW]), other.run([NOW])]);
      expect(Object.keys(indexIn(state)?.clusters ?? {}).toSorted()).toEqual(['a', 'b']);
      expect(beats()).toHaveLength(1);
    });

    it('does not silence what follows when the index has one far ahead', async () => {
      const state = memoryObjects({ 'fleet-index.json.gz': { ...indexOf(), reported: NOW + 60 * MINUTE } });
      await fold(state, [swept()]);
      expect([beats(), indexIn(state)?.reported]).toEqual([[1], NOW]);
    });
  });

  describe('killed', () => {
    type Step = 'receive' | 'read' | 'write' | 'written' | 'page' | 'remove' | 'removed';
    const OUTCOMES = Array.from({ length: 25 }, (_, n) => swept({ id: `c${n}`, verdicts: [], counts: undefined }));

    /** A process that ends at a step, with all that it had in memory. */
    async function killedAt(step: Step | undefined, state: MemoryObjects, queue: MemoryQueue, now: number) {
      const dead = Promise.withResolvers<void>();
      const die = async (): Promise<never> => {
        dead.resolve();
        return new Promise(() => undefined);
      };
      const before = (name: Step) => async () => (name === step ? die() : undefined);
      const steps = {
        receive: async () => {
          const received = await queue.receive();
          await before('receive')();
          return received;
        },
        remove: async (messages: Parameters<MemoryQueue['remove']>[0]) => {
          await before('remove')();
          await queue.remove(messages.slice(0, step === 'removed' ? 5 : undefined));
          await before('removed')();
        },
      };
      const bucket: MemoryObjects = {
        ...state,
        read: async (...args) => {
          await before('read')();
          return state.read(...args);
        },
        write: async (...args) => {
          await before('write')();
          const etag = await state.write(...args);
          await before('written')();
          return etag;
        },
      };
      const page: PageOptions = { everyMs: 5 * MINUTE, publish: before('page') };
      await Promise.race([reporting(bucket, { outcomes: steps, page }).run([NOW], now), dead.promise]);
    }

    it.each(['receive', 'read', 'write', 'written', 'page', 'remove', 'removed'] as const)(
      'at the step %s, it loses nothing and doubles nothing',
      async (step) => {
        const whole = memoryObjects({ 'registry.json.gz': registry(PARIS_REGISTERED) });
        const state = memoryObjects({ 'registry.json.gz': registry(PARIS_REGISTERED) });
        const queue = memoryQueue(Date.now);
        vi.setSystemTime(NOW + 5_000);
        send(queue, dispatched(), ...OUTCOMES);
        await killedAt(step, state, queue, NOW + 30_000);
        expect(queue.size).toBeGreaterThan(0);
        expect(beats()).toEqual([]);
        // Its start comes back, and what it held is there again.
        await killedAt(undefined, state, queue, NOW + 80_000);
        await fold(whole, [dispatched(), ...OUTCOMES]);
        expect(indexIn(state)?.clusters).toEqual(indexIn(whole)?.clusters);
        expect(indexIn(state)?.dispatch).toEqual(indexIn(whole)?.dispatch);
        expect(queue.size).toBe(0);
        // The last run that is compared with beats too.
        expect(beats()).toHaveLength(['receive', 'read', 'write'].includes(step) ? 2 : 1);
      },
    );
  });

  describe('the report page', () => {
    const pages: FleetHealth[] = [];
    beforeEach(() => pages.splice(0));
    const page: PageOptions = {
      everyMs: 5 * MINUTE,
      publish: async (health) => {
        pages.push(health);
      },
    };
    const stored = () => memoryObjects({ 'registry.json.gz': registry(PARIS_REGISTERED) });

    it('is made at once, then by the first tick of each five minutes, whoever runs', async () => {
      const state = stored();
      // NOW is a whole ten minutes; the tick of the fifth minute is lost.
      for (const minute of [2, 2, 3, 4, 6, 7, 9, 10, 10, 11])
        await reporting(state, { page }).run([NOW + minute * MINUTE]);
      expect(pages.map((health) => (Date.parse(health.at) - NOW - 30_000) / MINUTE)).toEqual([2, 6, 10]);
      expect(pages[0]?.clusters.map(({ id }) => id)).toEqual(['paris']);
      expect(published().filter(({ metrics }) => 'PagesUnwritten' in metrics)).toEqual([]);
    });

    it('never fails a report, and is not tried again with each', async () => {
      let tries = 0;
      const publish = async () => {
        tries += 1;
        throw awsError('denied');
      };
      const state = stored();
      const { queue, run } = reporting(state, { page: { ...page, publish } });
      for (const minute of [0, 1, 2, 5]) {
        send(queue, swept({ startedAt: at(minute * MINUTE + 30_000) }));
        await run([NOW + minute * MINUTE]);
      }
      expect([tries, queue.size]).toEqual([2, 0]);
      expect(indexIn(state)).toBeDefined();
      expect(measured()).toMatchObject({ OutcomesFolded: [1], OldestSweep: [0], PagesUnwritten: [1] });
      expect(output.text()).toContain('report page not written');
    });

    it('is not made of a fleet that nobody knows', async () => {
      const { queue, run } = reporting(memoryObjects(), { page });
      send(queue, swept());
      await run([NOW]);
      expect(pages).toEqual([]);
    });
  });
});
