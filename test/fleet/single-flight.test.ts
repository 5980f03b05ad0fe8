import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATIENCE_MS } from '../patience.ts';
import { runs } from '../runs.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { steppedClock } from './clock.ts';
import { approvedIn, type HubCluster } from './hub/clusters.ts';
import { watchFlights } from './hub/flights.ts';
import { createGate } from './hub/gate.ts';
import { findingsOf } from './hub/hub.ts';
import { webhookHint } from './hub/webhook-hint.ts';
import { IDS, MINUTE, START, startWorld, type World, type WorldClusterName } from './hub/world.ts';

const LIST = /certificatesigningrequests\?/;
const APPROVAL = /\/approval$/;

/** Lists of requests so far: each sweep begins with one. */
function listsIn({ server }: HubCluster): number {
  return server.requests.filter(({ method, url }) => method === 'GET' && LIST.test(url)).length;
}

/** Status of every approval that was tried, in the order in which they came. */
function writesIn({ server }: HubCluster): readonly (number | undefined)[] {
  return server.requests.filter(({ method }) => method === 'PUT').map(({ status }) => status);
}

/** Each approval was written once, whoever tried. */
function expectNoDoubleWrite({ clusters }: World): void {
  for (const cluster of Object.values<HubCluster>({ ...clusters })) {
    const written = cluster.server.requests.filter(({ method, status }) => method === 'PUT' && status === 200);
    expect(written.map(({ url }) => url).toSorted()).toEqual([...new Set(written.map(({ url }) => url))].toSorted());
    expect(written).toHaveLength(approvedIn(cluster).length);
    const conditions = cluster.server.api.csrs.all().map(({ status }) => status.conditions?.length ?? 0);
    expect(Math.max(...conditions)).toBeLessThanOrEqual(1);
  }
}

describe('single flight', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it('keeps ticks, the same tick twice and hints away from a cluster while a sweep of it is under way', async () => {
    const clock = steppedClock(START);
    const gate = createGate(clock);
    const flights = watchFlights();
    await using world = await startWorld({ clock, duringSweep: gate.during, around: flights.around });
    const { hub, clusters } = world;
    const { zurich, berlin } = clusters;
    await world.minute();
    await world.minute();
    const [before, others] = [listsIn(zurich), listsIn(berlin)];

    zurich.server.inject({ fault: gate.fault, path: LIST, times: 1 });
    await hub.dispatch();
    await clock.advance(0);
    await gate.reached;
    // A sweep has 60 s. In that time everything comes that can ask for another one.
    const hint = async (name: WorldClusterName) => hub.webhook(webhookHint(IDS[name]));
    await Promise.all([hub.dispatch(), hub.dispatch(), hint('zurich'), hint('oslo')]);
    await clock.advance(15_000);
    await Promise.all([hint('zurich'), hint('zurich')]);
    await clock.advance(44_000);
    expect(listsIn(zurich)).toBe(before + 1);
    // All in one shard, so that berlin was swept beside it, and just once for the one tick.
    expect(listsIn(berlin)).toBe(others + 1);

    await gate.open();
    await world.minute();
    await world.minute();
    await world.minute();
    expect(Math.max(...flights.most.values())).toBe(1);
    // Afterwards it goes on: a tick each minute, and the hints when their requests may be judged, two minutes later.
    expect(listsIn(zurich)).toBeGreaterThan(before + 3);
    expect(approvedIn(zurich)).toHaveLength(1);
    expect(findingsOf(hub.index())).toEqual([]);
    expectNoDoubleWrite(world);
  });

  it('makes one sweep of hints that come together, and of a tick that is sent twice', async () => {
    const flights = watchFlights();
    await using world = await startWorld({ around: flights.around });
    const { hub, clusters, clock } = world;
    await world.minute();
    const before = listsIn(clusters.zurich);
    for (let count = 0; count < 20; count += 1) {
      // Each hint reaches another instance of the webhook, which has sent none yet.
      hub.restart();
      await hub.webhook(webhookHint(IDS.zurich));
    }
    await clock.advance(3 * MINUTE);
    expect(listsIn(clusters.zurich)).toBe(before + 1);
    await Promise.all([hub.dispatch(), hub.dispatch(), hub.dispatch()]);
    await clock.advance(MINUTE);
    expect(listsIn(clusters.zurich)).toBe(before + 2);
    expect(Math.max(...flights.most.values())).toBe(1);
  });

  it.each([
    ['it lists', LIST, [200]],
    ['it writes', APPROVAL, [200, 409]],
  ])(
    'writes once when a sweep is cut off from its message while %s, and another one begins',
    async (_, path, statuses) => {
      const clock = steppedClock(START);
      const gate = createGate(clock);
      const flights = watchFlights();
      await using world = await startWorld({ clock, duringSweep: gate.during, around: flights.around });
      const { berlin } = world.clusters;
      // The first sweep shows which server is behind it, and writes nothing.
      await world.minute();
      berlin.server.inject({ fault: gate.fault, path, times: 1 });
      await world.hub.dispatch();
      await clock.advance(0);
      await gate.reached;
      // The others of the shard end meanwhile, their journals too: the clock does not wait for them any more.
      const underWay = () => [...flights.under].flatMap(([id, count]) => (count > 0 ? [id] : []));
      await vi.waitFor(() => expect(underWay()).toEqual(['berlin']), { timeout: PATIENCE_MS });
      // The function has 60 s, the message is invisible for 90 and then dropped; nothing kills what still runs here. The order of the next minute waits behind it.
      await clock.advance(MINUTE);
      await world.hub.dispatch();
      await clock.advance(31_000);
      expect(flights.most.get('berlin')).toBe(2);
      expect(approvedIn(berlin)).toHaveLength(1);
      const [approved] = berlin.server.api.csrs.all().filter(({ status }) => status.conditions !== undefined);

      await gate.open();
      await world.minute();
      // What came late was refused, read again, and left as it is.
      expect(writesIn(berlin).toSorted((a = 0, b = 0) => a - b)).toEqual(statuses);
      expect(berlin.server.api.csrs.get(approved?.metadata.name ?? '')).toEqual(approved);
      expect(findingsOf(world.hub.index())).toEqual([]);
      expectNoDoubleWrite(world);
    },
  );

  it('holds for any order of ticks, repetitions, hints, new requests and crashes', async () => {
    const step = fc.oneof(
      fc.constantFrom('tick', 'tick twice', 'hint', 'ask', 'crash', 'cold start'),
      fc.integer({ min: 1, max: 100 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const flights = watchFlights();
        let crashes = 0;
        await using world = await startWorld({
          around: flights.around,
          afterSweep() {
            if (crashes === 0) return;
            crashes -= 1;
            throw new Error('the function ended before it could answer');
          },
        });
        const { hub, clusters, clock } = world;
        let nodes = 1;
        await world.minute();
        for (const next of steps) {
          if (next === 'tick') await hub.dispatch();
          else if (next === 'tick twice') await Promise.all([hub.dispatch(), hub.dispatch()]);
          else if (next === 'hint') await Promise.all([1, 2].map(async () => hub.webhook(webhookHint(IDS.zurich))));
          else if (next === 'crash') crashes += 1;
          else if (next === 'cold start') hub.restart();
          else if (next === 'ask') {
            nodes += 1;
            for (const cluster of [clusters.zurich, clusters.berlin]) {
              cluster.addNode(nodes);
              cluster.ask(nodes);
            }
          } else await clock.advance(next * 1_000);
        }
        crashes = 0;
        for (let minute = 0; minute < 5; minute += 1) await world.minute();
        expect(Math.max(...flights.most.values())).toBe(1);
        expect(flights.count.get(IDS.zurich)).toBeGreaterThanOrEqual(5);
        expect(approvedIn(clusters.berlin)).toHaveLength(nodes);
        expectNoDoubleWrite(world);
      }),
      { seed: 4, numRuns: runs(6) },
    );
  });
});
