import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { steppedClock } from './clock.ts';
import { UNPLUGGED } from './faults.ts';
import { approvedIn, type HubCluster } from './hub/clusters.ts';
import { type AroundCall, findingsOf } from './hub/hub.ts';
import { IDS, MINUTE, START, startWorld, type WorldClusterName } from './hub/world.ts';

const callsIn = ({ server }: HubCluster): number => server.requests.length;

describe('a webhook between two ticks', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it.each<WorldClusterName>(['berlin', 'rome', 'venice'])(
    'has a CSR of %s approved at once; the index changes in its approvals only',
    async (name) => {
      let isPlanBroken = false;
      const aroundCall: AroundCall = async (called, call) => {
        if (called === 'plan' && isPlanBroken) throw new Error('no plan');
        return call();
      };
      await using world = await startWorld({ aroundCall });
      const { clock, clusters, hub } = world;
      for (let minutes = 0; minutes < 4; minutes += 1) await world.minute();
      const cluster = clusters[name];
      const before = approvedIn(cluster).length;
      for (const node of [2, 3]) {
        cluster.addNode(node);
        cluster.ask(node);
        await clock.advance(10_000);
        await hub.webhook(IDS[name]);
      }
      expect(approvedIn(cluster)).toHaveLength(before + 2);

      // No sweep comes in the next minute.
      const { verdicts: old = [], ...rest } = hub.index()?.clusters[IDS[name]] ?? {};
      isPlanBroken = true;
      await world.minute();
      const { verdicts = [], ...after } = hub.index()?.clusters[IDS[name]] ?? {};
      expect(verdicts.length).toBe(old.length + 2);
      expect(after).toEqual(rest);
      expect(findingsOf(hub.index()).map(({ kind }) => kind)).toEqual(['plan']);
    },
  );

  it('approves on EKS after two minutes, as a tick does', async () => {
    await using world = await startWorld();
    const { clock, clusters, hub } = world;
    for (let minutes = 0; minutes < 4; minutes += 1) await world.minute();
    clusters.zurich.addNode(2);
    clusters.zurich.ask(2);
    await hub.webhook(IDS.zurich);
    expect(approvedIn(clusters.zurich)).toHaveLength(1);
    await world.minute();
    await clock.advance(MINUTE + 1_000);
    await hub.webhook(IDS.zurich);
    expect(approvedIn(clusters.zurich)).toHaveLength(2);
  });

  it.each<[string, number, WorldClusterName]>([
    ['before the first order', 1, 'berlin'],
    ['while writes are held, as before a sweep has shown its server', 2, 'berlin'],
  ])('does nothing %s', async (_, minutes, name) => {
    await using world = await startWorld();
    const { clusters, hub } = world;
    for (let minute = 0; minute < minutes; minute += 1) await world.minute();
    const [calls, outcomes] = [callsIn(clusters[name]), hub.written.length];
    await hub.webhook(IDS[name]);
    expect(callsIn(clusters[name])).toBe(calls);
    expect(hub.written).toHaveLength(outcomes);
  });

  it('does nothing by an order of three minutes ago, and none for another cluster', async () => {
    await using world = await startWorld();
    const { clock, clusters, hub } = world;
    for (let minutes = 0; minutes < 4; minutes += 1) await world.minute();
    const others = callsIn(clusters.paris);
    await hub.webhook(IDS.berlin);
    expect(callsIn(clusters.paris)).toBe(others);
    await clock.advance(2 * MINUTE);
    const calls = callsIn(clusters.berlin);
    await hub.webhook(IDS.berlin);
    expect(callsIn(clusters.berlin)).toBe(calls);
  });

  it('of a cluster that does not answer keeps no neighbour from its tick', async () => {
    const clock = steppedClock(START);
    const waits: number[] = [];
    await using world = await startWorld({
      clock,
      around: (sweepOne) => async (order, signal) => {
        if (order.byWebhook !== true && order.target.id === 'paris') waits.push(clock.now() - order.tick);
        return sweepOne(order, signal);
      },
    });
    for (let minutes = 0; minutes < 4; minutes += 1) await world.minute();
    world.clusters.berlin.server.inject(UNPLUGGED);
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await Promise.all(Array.from({ length: 5 }, async () => world.hub.webhook(IDS.berlin)));
      await world.minute();
    }
    expect(waits).toEqual(Array(8).fill(0));
  });
});
