import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AwsError } from '../../lambdas/aws/errors.ts';
import { DEFAULT_LANE } from '../../lambdas/config/fleet.ts';
import { ordersOf, outcomesKey, STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import type { State } from '../../lambdas/state.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { emfRecords } from '../unit/telemetry/emf.ts';
import { approvedIn, type HubCluster } from './hub/clusters.ts';
import { aroundEach, findingsOf } from './hub/hub.ts';
import { fleetFile, IDS, MINUTE, START, startWorld, type World, type WorldOptions } from './hub/world.ts';

/** Minutes before anything goes wrong: the fleet is discovered, every server is known. */
const WELL = 4;
const BAD = START + WELL * MINUTE;
const LANE = `
lanes:
  - { name: onprem, vpcId: vpc-0a1b2c3d4e5f60718, subnetIds: [subnet-0a1b2c3d4e5f60718, subnet-1b2c3d4e5f607182a], securityGroupIds: [sg-0a1b2c3d4e5f60718] }
`;
const never = new AbortController().signal;

/** Two lanes, so that a minute has two objects with orders. */
async function startLanes(options: WorldOptions = {}): Promise<World> {
  return startWorld({
    fleetFile: (clusters) => fleetFile(clusters).replace('{ name: berlin,', '{ name: berlin, lane: onprem,') + LANE,
    ...options,
  });
}

/** Every cluster was swept in the last minute, nothing is left to say, and nothing was approved twice. */
async function expectWhole(world: World, minutes = 1): Promise<void> {
  const clusters = Object.values<HubCluster>({ ...world.clusters });
  for (let minute = 0; minute < minutes; minute += 1) await world.minute();
  expect(findingsOf(world.hub.index())).toEqual([]);
  const last = new Date(world.clock.now() - MINUTE).toISOString();
  const swept = Object.values(world.hub.index()?.clusters ?? {}).map(({ sweptAt }) => sweptAt);
  expect(swept).toEqual(Object.values(IDS).map(() => last));
  for (const cluster of clusters) {
    const writes = cluster.server.requests.filter(({ method, status }) => method === 'PUT' && status === 200);
    expect(writes).toHaveLength(approvedIn(cluster).length);
  }
}

function ask({ clusters }: World): void {
  for (const cluster of Object.values<HubCluster>({ ...clusters })) {
    cluster.addNode(2);
    cluster.ask(2);
  }
}

async function well(world: World): Promise<void> {
  for (let minute = 0; minute < WELL; minute += 1) await world.minute();
  ask(world);
}

const kindsIn = ({ hub }: World) => findingsOf(hub.index()).map(({ of, kind }) => `${of} ${kind}`);

/** The process ends with the first write of these keys. */
function dyingAt(match: RegExp, when: 'before' | 'after'): WorldOptions['aroundState'] {
  let isDead = false;
  return (state): State => ({
    ...state,
    async put(key, value, etag, signal) {
      if (isDead || !match.test(key)) return state.put(key, value, etag, signal);
      isDead = true;
      if (when === 'after') await state.put(key, value, etag, signal);
      throw new Error('Runtime exited with error: signal: killed');
    },
  });
}

/** Other orders than plan wrote in the bad minute. */
function reading(
  change: (value: { tick: number; shards: { orders: object[] }[] }) => unknown,
): WorldOptions['aroundState'] {
  return (state) => ({
    ...state,
    async get(key, signal) {
      const stored = await state.get(key, signal);
      if (stored === undefined || !key.startsWith(ordersOf(DEFAULT_LANE, BAD))) return stored;
      const value = change(JSON.parse(JSON.stringify(stored.value)));
      return value === undefined ? undefined : { ...stored, value };
    },
  });
}

describe('a tick', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it('that runs twice at once is planned once', async () => {
    await using world = await startLanes();
    await well(world);
    const orders = world.hub.orders().length;
    const results = await Promise.all([world.hub.minute(), world.hub.minute()]);
    expect(results.map((result) => result.length).toSorted((a, b) => a - b)).toEqual([0, 2]);
    expect(world.hub.orders().length - orders).toBe(Object.keys(IDS).length);
    await world.clock.advance(MINUTE);
    await expectWhole(world);
  });

  it.each<[string, RegExp, 'before' | 'after']>([
    ['plan after its first object', new RegExp(`^orders/[^/]+/${minuteOf(BAD)}/`), 'after'],
    ['a sweep before its outcomes', new RegExp(`^outcomes/[^/]+/${minuteOf(BAD)}/`), 'before'],
    ['a sweep after its outcomes', new RegExp(`^outcomes/[^/]+/${minuteOf(BAD)}/`), 'after'],
  ])('that is killed in %s costs a minute at most', async (_, match, when) => {
    await using world = await startLanes({ aroundState: dyingAt(match, when) });
    await well(world);
    const results = await world.hub.minute();
    expect(results.filter(({ error }) => error === undefined).length).toBeLessThan(2);
    await world.clock.advance(MINUTE);
    await expectWhole(world, 2);
    for (const cluster of Object.values<HubCluster>({ ...world.clusters })) expect(approvedIn(cluster)).toHaveLength(2);
  });

  it.each<[string, keyof typeof STATE_KEYS, 'before' | 'after']>([
    ['before the index', 'index', 'before'],
    ['between index and registry', 'index', 'after'],
    ['before the registry', 'registry', 'before'],
  ])('that is killed in report %s costs nothing that the next one does not make up for', async (_, object, when) => {
    let isBad = false;
    await using world = await startLanes({
      aroundState: (state) => ({
        ...state,
        async put(key, value, etag, signal) {
          if (!isBad || key !== STATE_KEYS[object]) return state.put(key, value, etag, signal);
          isBad = false;
          if (when === 'after') await state.put(key, value, etag, signal);
          throw new Error('Runtime exited with error: signal: killed');
        },
      }),
    });
    await well(world);
    isBad = true;
    await expect(world.hub.minute()).rejects.toThrow('killed');
    // Approved before report.
    expect(approvedIn(world.clusters.berlin)).toHaveLength(2);
    await world.clock.advance(MINUTE);
    await expectWhole(world);
    expect(world.hub.index()?.clusters['berlin']?.verdicts?.map(({ outcome }) => outcome)).toContain('written');
  });

  it.each<[string, Parameters<typeof reading>[0], string]>([
    ['are missing', () => undefined, 'hub not-begun'],
    ['are of another lane', (value) => ({ ...value, lane: 'onprem' }), 'hub not-begun'],
    [
      'are 100,000',
      (value) => ({
        ...value,
        shards: value.shards.map(({ orders, ...shard }) => ({ ...shard, orders: Array(100_000).fill(orders[0]) })),
      }),
      'hub not-begun',
    ],
    [
      'are from yesterday',
      (value) => ({
        ...value,
        shards: value.shards.map(({ orders, ...shard }) => ({
          ...shard,
          orders: orders.map((order) => ({ ...order, tick: BAD - 24 * 60 * MINUTE })),
        })),
      }),
      `${IDS.zurich} order`,
    ],
  ])('whose orders %s sweeps nothing of them, says so, and the next one is whole', async (_, change, kind) => {
    await using world = await startLanes({ aroundState: reading(change) });
    await well(world);
    const before = world.clusters.zurich.server.requests.length;
    await world.minute();
    expect(world.clusters.zurich.server.requests).toHaveLength(before);
    expect(approvedIn(world.clusters.berlin)).toHaveLength(2);
    expect(kindsIn(world)).toContain(kind);
    expect(world.hub.index()?.apart).toEqual({});
    // What was found through a cluster that was not read is said for a minute more.
    await expectWhole(world, 2);
  });

  it('drops outcomes that do not parse, or are about a cluster of another lane, and counts them', async () => {
    await using world = await startLanes();
    await well(world);
    await world.minute();
    const forged = {
      id: IDS.berlin,
      startedAt: new Date(world.clock.now()).toISOString(),
      durationMs: 1,
      readable: false,
      complete: false,
      problems: [],
      problemCount: 0,
    };
    const { state } = world.hub;
    await state.put(
      outcomesKey(DEFAULT_LANE, world.clock.now(), 77),
      { version: 2, outcomes: [forged] },
      undefined,
      never,
    );
    await state.put(outcomesKey(DEFAULT_LANE, world.clock.now(), 78), { version: 2, outcomes: 'x' }, undefined, never);
    const printed = output.text().length;
    await world.minute();
    const dropped = emfRecords(output.text().slice(printed)).flatMap(
      ({ metrics }) => metrics['OutcomesUnreadable'] ?? [],
    );
    expect(dropped.reduce((sum, one) => sum + one, 0)).toBe(2);
    expect(world.hub.index()?.clusters[IDS.berlin]?.readable).toBe(true);
    // The next one reads them too, as those of the last tick.
    await world.minute();
    await expectWhole(world);
  });

  it('is whole where the clocks of the functions are 30 s apart', async () => {
    await using world = await startLanes({ aheadMs: { plan: 0, sweep: 30_000, report: -30_000 } });
    await well(world);
    for (let minute = 0; minute < 3; minute += 1) await world.minute();
    expect(findingsOf(world.hub.index())).toEqual([]);
    for (const cluster of [world.clusters.berlin, world.clusters.zurich]) expect(approvedIn(cluster)).toHaveLength(2);
  });

  it('leaves the state alone while it answers 503, and the next one is whole', async () => {
    let isDown = false;
    await using world = await startLanes({
      aroundState: (state) =>
        aroundEach(state, async (call) => {
          if (isDown) throw new AwsError({ kind: 'unavailable', object: 's3', problem: '503', remedy: 'Wait.' });
          return call();
        }),
    });
    await well(world);
    isDown = true;
    await expect(world.hub.minute()).rejects.toThrow('503');
    expect(approvedIn(world.clusters.berlin)).toHaveLength(1);
    await world.clock.advance(MINUTE);
    isDown = false;
    await expectWhole(world);
    expect(approvedIn(world.clusters.berlin)).toHaveLength(2);
  });
});

it('has one index in both homes, but for what each run makes anew', async () => {
  const output = captureStdout();
  const indexIn = async (home: 'directory' | 'bucket'): Promise<unknown> => {
    await using world = await startLanes({ home });
    await well(world);
    await world.hub.webhook(IDS.berlin);
    for (let minute = 0; minute < 3; minute += 1) await world.minute();
    const text = world.hub
      .textOf(STATE_KEYS.index)
      .replaceAll(/127\.0\.0\.1:\d+/g, 'server')
      .replaceAll(/"csr-[a-z0-9]+"/g, '"csr"')
      .replaceAll(/"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g, '"uid"');
    // In the order of the uids.
    return JSON.parse(text, (key, value) =>
      key === 'verdicts' ? value.map((one: object) => JSON.stringify(one)).toSorted() : value,
    );
  };
  const [directory, bucket] = [await indexIn('directory'), await indexIn('bucket')];
  output.restore();
  expect(Object.keys((directory as { clusters: object }).clusters)).toHaveLength(Object.keys(IDS).length);
  expect(directory).toEqual(bucket);
});

function minuteOf(tick: number): string {
  return new Date(tick).toISOString().slice(0, 16).replace(':', '');
}
