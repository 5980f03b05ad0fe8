import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { approvedIn } from './hub/clusters.ts';
import type { AroundCall } from './hub/hub.ts';
import { IDS, MINUTE, START, startWorld, type World } from './hub/world.ts';

const ALL = Object.values(IDS);

/** A world in which Lambda ends every invocation that sweeps one of some clusters, before it has sent an outcome. */
async function startKilling() {
  const killers = new Set<string>();
  const aroundCall: AroundCall = async (name, call, event) => {
    const isHit = [...killers].some((id) => event?.Records.some(({ body }) => body.includes(`"id":"${id}"`)));
    if (name !== 'sweep' || !isHit) return call();
    throw new Error('Runtime exited with error: signal: killed');
  };
  const world = await startWorld({ aroundCall });
  return { world, killers };
}

/** For each cluster, how many minutes it has not been swept at most, in so many minutes. */
async function gapsOf(world: World, count: number): Promise<ReadonlyMap<string, number>> {
  const { hub, clock } = world;
  const gaps = new Map<string, number>();
  for (let n = 0; n < count; n += 1) {
    await world.minute();
    for (const id of ALL) {
      const age = clock.now() - Date.parse(hub.index()?.clusters[id]?.sweptAt ?? new Date(START).toISOString());
      gaps.set(id, Math.max(gaps.get(id) ?? 0, Math.floor(age / MINUTE)));
    }
  }
  return gaps;
}

describe('an invocation that Lambda ends', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it('costs the neighbours of its cause some minutes, once, and the cause alone after that', async () => {
    const { world, killers } = await startKilling();
    await using _ = world;
    const { hub, clusters } = world;
    await gapsOf(world, 4);
    killers.add('paris');
    const gaps = await gapsOf(world, 10);
    const neighbours = [...gaps].filter(([id]) => id !== 'paris').map(([, gap]) => gap);
    expect(Math.max(...neighbours)).toBeGreaterThan(1);
    expect(Math.max(...neighbours)).toBeLessThanOrEqual(6);
    expect(hub.registry()?.clusters['paris']?.shard?.name).toMatch(/^default\.alone\./);

    // It answers for an hour, and ends its process again: nobody else notices.
    killers.clear();
    expect((await gapsOf(world, 60)).get('berlin')).toBeLessThan(2);
    killers.add('paris');
    clusters.berlin.addNode(2);
    clusters.berlin.ask(2);
    const again = await gapsOf(world, 6);
    expect(Math.max(...[...again].filter(([id]) => id !== 'paris').map(([, gap]) => gap))).toBeLessThan(2);
    expect(again.get('paris')).toBeGreaterThan(4);
    expect(approvedIn(clusters.berlin)).toHaveLength(2);
  });

  it('is over for all when it was the end of every one', async () => {
    const { world, killers } = await startKilling();
    await using _ = world;
    await gapsOf(world, 3);
    for (const id of ALL) killers.add(id);
    await gapsOf(world, 8);
    killers.clear();
    await gapsOf(world, 4);
    const names = ALL.map((id) => world.hub.registry()?.clusters[id]?.shard?.name);
    expect(names.every((name) => name?.startsWith('default.ordinary.'))).toBe(true);
    expect(Math.max(...(await gapsOf(world, 3)).values())).toBeLessThan(2);
  });
});
