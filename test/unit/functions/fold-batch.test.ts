import type { SQSEvent } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseFleetIndex } from '../../../lambdas/contracts/fleet-index.ts';
import type { Outcome } from '../../../lambdas/contracts/outcome.ts';
import { encodeOutcome } from '../../../lambdas/fleet/outcome-message.ts';
import { createFoldBatch, type PageOptions } from '../../../lambdas/functions/fold-batch.ts';
import type { FleetHealth, Monitoring } from '../../../lambdas/health/fleet-health.ts';
import { SIGNALS } from '../../../lambdas/tables/signals.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import {
  at,
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

const PARIS_REGISTERED = registered(PARIS.id, { target: PARIS });

describe('createFoldBatch', () => {
  const output = writtenByEachTest();

  const MONITORING: Monitoring = { alarms: {}, maintenance: [], objective: 0.999, auditEveryMinutes: 15 };

  async function fold(state: MemoryObjects, bodies: readonly (Outcome | string)[], now = NOW) {
    return folding(state)(bodies, now);
  }

  /** One process, which may fold several batches. */
  function folding(state: MemoryObjects, page?: PageOptions) {
    const waits: number[] = [];
    const metrics = createMetrics('report');
    let time = NOW;
    const foldBatch = createFoldBatch({
      state,
      clock: () => time,
      random: () => 0.5,
      wait: async (ms) => {
        waits.push(ms);
      },
      logger: createLogger('report'),
      metrics,
      monitoring: MONITORING,
      page,
    });
    return async (bodies: readonly (Outcome | string)[], now = NOW) => {
      time = now;
      const records = bodies.map((body, index) => ({
        messageId: String(index),
        body: typeof body === 'string' ? body : encodeOutcome(body),
      }));
      try {
        await foldBatch({ Records: records } as SQSEvent, new AbortController().signal);
      } finally {
        metrics.publishStoredMetrics();
      }
      return waits;
    };
  }
  const indexIn = (state: MemoryObjects) => parseFleetIndex(state.objects.get('fleet-index.v2.json.gz')?.value, NOW);
  const published = () => output.records();
  /** Of the fleet. */
  const measured = () => published().find(({ dimensions }) => Object.keys(dimensions).length === 1)?.metrics;
  /** Those of rollouts and recoveries have no series where there are none. */
  const NO_SIGNALS = Object.fromEntries(
    Object.entries(SIGNALS).flatMap(([id, signal]) => ('sometimes' in signal ? [] : [[id, [0]]])),
  );

  it('folds the outcomes of a batch, and measures the fleet', async () => {
    const lost = registered('lost', { target: { ...PARIS, id: 'lost' }, foundAt: at(-5 * MINUTE) });
    const state = memoryObjects({ 'registry.v2.json.gz': registry(PARIS_REGISTERED, lost) });
    await fold(state, [dispatched(), swept(), swept({ id: DUBLIN.id, readable: false, complete: false })]);
    const index = indexIn(state);
    expect(Object.keys(index?.clusters ?? {})).toContain('paris');
    expect(index?.dispatch).toMatchObject({ registered: 3 });
    // Dublin is not registered: not a cluster of this fleet.
    expect(measured()).toEqual({
      ...NO_SIGNALS,
      OutcomesFolded: [3],
      ClustersUnreadable: [0],
      OldestSweep: [300],
      NeverReadFor: [300],
      SweepAge: [300],
      ClustersUnwell: [1],
      ClustersInMaintenance: [0],
    });
    expect(published()[0]).toEqual({
      namespace: 'certmarshal',
      dimensions: { service: 'report', Cluster: 'lost' },
      metrics: { NeverReadFor: [300], SweepAge: [300] },
    });
    expect(output.text()).toContain('"oldestSweeps":[{"id":"lost","ageSeconds":300}');
  });

  it('counts registered clusters that could not be read', async () => {
    const state = memoryObjects({ 'registry.v2.json.gz': registry(PARIS_REGISTERED) });
    await fold(state, [swept({ readable: false, complete: false })]);
    expect(measured()).toMatchObject({ ClustersUnreadable: [1] });
  });

  it('measures no age of a cluster that cannot be swept', async () => {
    const state = memoryObjects({ 'registry.v2.json.gz': registry(registered('x', { foundAt: at(-60 * MINUTE) })) });
    await fold(state, [dispatched()]);
    expect(measured()).toMatchObject({ OldestSweep: [0] });
  });

  it('beats in a fleet that is empty', async () => {
    const state = memoryObjects();
    await fold(state, [dispatched({ registered: 0, dispatched: 0 })]);
    expect(measured()).toEqual({
      ...NO_SIGNALS,
      OutcomesFolded: [1],
      ClustersUnreadable: [0],
      OldestSweep: [0],
      ClustersUnwell: [0],
      ClustersInMaintenance: [0],
    });
  });

  it('drops what is no outcome, and folds the rest', async () => {
    const state = memoryObjects();
    await fold(state, ['SENTINEL', swept()]);
    expect(measured()).toMatchObject({ OutcomesUnreadable: [1], OutcomesFolded: [1] });
    expect(output.text()).not.toContain('SENTINEL');
  });

  it('folds again into what another writer wrote meanwhile', async () => {
    const state = memoryObjects();
    state.before = () => {
      state.objects.set('fleet-index.v2.json.gz', {
        value: { version: 1, writtenAt: at(), clusters: {} },
        etag: '"theirs"',
      });
    };
    expect(await fold(state, [swept()])).toEqual([250]);
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris']);
  });

  it('gives the batch back after five conflicts', async () => {
    const state = memoryObjects();
    let writes = 0;
    state.write = async () => {
      writes += 1;
      throw awsError('conflict');
    };
    await expect(fold(state, [swept()])).rejects.toThrow('conflict in this test');
    expect(writes).toBe(5);
  });

  it('gives the batch back at once when S3 refuses', async () => {
    const state = memoryObjects();
    state.broken.add('fleet-index.v2.json.gz');
    await expect(fold(state, [swept()])).rejects.toThrow('unavailable in this test');
  });

  it('writes an index that would be too large in fewer words, and says so', async () => {
    const clusters = Array.from({ length: 1_000 }, (_, n) => ({
      namespace: 'n'.repeat(60),
      name: `${'w'.repeat(90)}${n}`,
    }));
    const loud = (n: number) => indexed(`loud-${n}`, { workloadClusters: { readAt: at(), clusters } });
    const many = Array.from({ length: 160 }, (_, n) => loud(n));
    const state = memoryObjects({ 'fleet-index.v2.json.gz': indexOf(...many) });
    await fold(state, [swept()]);
    const written = indexIn(state);
    expect(JSON.stringify(written).length).toBeLessThan(24 * 1024 * 1024);
    const cut = Object.values(written?.clusters ?? {}).filter((cluster) => cluster.cut === true);
    expect(cut.length).toBeGreaterThan(0);
    expect(cut.every(({ id }) => id.startsWith('loud-'))).toBe(true);
    expect(output.text()).toContain('"message":"index cut"');
  });

  it.each([{ version: 99 }, undefined])('writes the damaged index %j anew', async (value) => {
    const state = memoryObjects({ 'fleet-index.v2.json.gz': value });
    await fold(state, [swept()]);
    expect(Object.keys(indexIn(state)?.clusters ?? {})).toEqual(['paris']);
    expect(output.text()).toContain('index written anew');
  });

  it('says how many clusters of the index it could not read, and keeps the others', async () => {
    const { clusters, ...rest } = indexOf(indexed('rome'));
    const state = memoryObjects({ 'fleet-index.v2.json.gz': { ...rest, clusters: { ...clusters, oslo: 'nonsense' } } });
    await fold(state, [swept()]);
    expect(Object.keys(indexIn(state)?.clusters ?? {}).toSorted()).toEqual(['paris', 'rome']);
    expect(output.text()).toMatch(/"message":"clusters left out of the index".*"count":1/);
    expect(output.text()).not.toContain('index written anew');
  });

  it.each([
    ['cannot be read', memoryObjects()],
    ['is damaged', memoryObjects({ 'registry.v2.json.gz': 'nonsense' })],
    ['is no JSON', memoryObjects({ 'registry.v2.json.gz': undefined })],
    ['is lost, and dispatch knows clusters', memoryObjects(), dispatched({ registered: 500 })],
    ['is lost, and dispatch says nothing', memoryObjects(), swept()],
  ])('measures no age when the registry %s: silence rings', async (how, state, outcome: Outcome = swept()) => {
    if (how === 'cannot be read') state.broken.add('registry.v2.json.gz');
    await fold(state, [outcome]);
    expect(measured()).toEqual({ OutcomesFolded: [1] });
    expect(indexIn(state)).toBeDefined();
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
    const stored = () => memoryObjects({ 'registry.v2.json.gz': registry(PARIS_REGISTERED) });

    it('is made at once, and again when it is five minutes old', async () => {
      const foldOne = folding(stored(), page);
      for (const minute of [0, 1, 4.99, 5, 6, 10])
        await foldOne([swept({ startedAt: at(minute * MINUTE) })], NOW + minute * MINUTE);
      expect(pages.map((health) => health.at)).toEqual([at(), at(5 * MINUTE), at(10 * MINUTE)]);
      expect(pages[0]?.clusters.map(({ id }) => id)).toEqual(['paris']);
      expect(published().flatMap(({ metrics }) => metrics['PagesUnwritten'] ?? [])).toEqual([0, 0, 0]);
    });

    it('never fails a fold, and is not tried again with each', async () => {
      let tries = 0;
      const publish = async () => {
        tries += 1;
        throw awsError('denied');
      };
      const state = stored();
      const foldOne = folding(state, { ...page, publish });
      for (const minute of [0, 1, 2, 5]) await foldOne([swept()], NOW + minute * MINUTE);
      expect(tries).toBe(2);
      expect(indexIn(state)).toBeDefined();
      expect(measured()).toMatchObject({ OutcomesFolded: [1], OldestSweep: [0], PagesUnwritten: [1] });
      expect(output.text()).toContain('report page not written');
    });

    it('is not made of a fleet that nobody knows', async () => {
      await folding(memoryObjects(), page)([swept()]);
      expect(pages).toEqual([]);
    });
  });
});
