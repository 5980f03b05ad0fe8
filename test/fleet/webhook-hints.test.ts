import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { steppedClock } from './clock.ts';
import { approvedIn, type HubCluster } from './hub/clusters.ts';
import { findingsOf } from './hub/hub.ts';
import { webhookHint } from './hub/webhook-hint.ts';
import { IDS, MINUTE, START, startWorld, type WorldClusterName } from './hub/world.ts';

const LIST = /certificatesigningrequests\?/;

function listsIn({ server }: HubCluster): number {
  return server.requests.filter(({ method, url }) => method === 'GET' && LIST.test(url)).length;
}

describe('hints by webhook', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it.each<[WorldClusterName, number]>([
    ['berlin', 5],
    ['rome', 5],
    ['venice', 5],
    ['zurich', 125],
    ['oslo', 125],
  ])('have a request of %s approved within %i s, without a tick', async (name, seconds) => {
    await using world = await startWorld();
    const { clock, clusters, hub } = world;
    for (let minutes = 0; minutes < 3; minutes += 1) await world.minute();
    const cluster = clusters[name];
    const before = approvedIn(cluster).length;
    cluster.addNode(2);
    cluster.ask(2);
    await hub.webhook(webhookHint(IDS[name]));
    await clock.advance(seconds * 1_000);
    expect(approvedIn(cluster)).toHaveLength(before + 1);
    expect(findingsOf(hub.index())).toEqual([]);
  });

  it('of a flood with a valid token are twenty looks a minute at that cluster, and none at another', async () => {
    await using world = await startWorld();
    const { clock, clusters, hub } = world;
    for (let minutes = 0; minutes < 3; minutes += 1) await world.minute();
    const [before, others] = [listsIn(clusters.berlin), listsIn(clusters.paris)];
    for (let call = 0; call < 1_200; call += 1) {
      await hub.webhook(webhookHint(IDS.berlin));
      await clock.advance(50);
    }
    await clock.advance(5_000);
    const looks = listsIn(clusters.berlin) - before;
    expect(looks).toBeGreaterThan(15);
    expect(looks).toBeLessThanOrEqual(21);
    expect(listsIn(clusters.paris)).toBe(others);
  });

  it('of a cluster that floods and takes nine seconds for each look keep no neighbour from its tick for longer than 20 s', async () => {
    const clock = steppedClock(START);
    const waits: number[] = [];
    const looks: number[] = [];
    await using world = await startWorld({
      clock,
      // What is slow is slow by the clock of the world, which stands still for everything else.
      duringSweep: async (work) => work,
      around: (sweepOne) => async (order, signal) => {
        if (order.hinted === true) {
          looks.push(clock.now());
          await clock.sleep(9_000);
        } else if (order.target.id === 'paris') waits.push(clock.now() - order.tick);
        return clock.during(sweepOne(order, signal));
      },
    });
    const { hub } = world;
    for (let minutes = 0; minutes < 3; minutes += 1) await world.minute();
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await hub.dispatch();
      for (let second = 0; second < 60; second += 1) {
        await hub.webhook(webhookHint(IDS.berlin));
        await clock.advance(1_000);
      }
    }
    // Whatever waits has to end before the world does.
    await clock.advance(2 * MINUTE);
    // They are neighbours, and the flood is carried out as far as it may be.
    expect(hub.registry()?.clusters['paris']?.shard?.name).toBe(hub.registry()?.clusters['berlin']?.shard?.name);
    expect(looks.length).toBeGreaterThan(20);
    expect(waits).toHaveLength(8);
    expect(Math.max(...waits)).toBeLessThanOrEqual(20_000);
  });

  it('with another token are none, whatever they say', async () => {
    await using world = await startWorld();
    const { clock, clusters, hub } = world;
    for (let minutes = 0; minutes < 3; minutes += 1) await world.minute();
    const before = listsIn(clusters.berlin);
    const forged = webhookHint(IDS.paris).rawPath.replace('/paris/', '/berlin/');
    for (let call = 0; call < 100; call += 1) await hub.webhook({ ...webhookHint(IDS.berlin), rawPath: forged });
    await clock.advance(10_000);
    expect(listsIn(clusters.berlin)).toBe(before);
  });
});
