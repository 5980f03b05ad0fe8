import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRegistry, type Shard } from '../../../lambdas/contracts/registry.ts';
import { assignShards, MAX_PARTS, SHARD_SIZE, type ShardMember } from '../../../lambdas/fleet/shards.ts';
import { DAY, MINUTE, NOW, registered, registry } from './values.ts';

const LANE = 'default';

interface Cluster {
  readonly id: string;
  readonly lane?: string;
  readonly slow?: boolean;
  /** Ends its process before it or a neighbour has an outcome. */
  readonly kills?: boolean;
  readonly heavyAt?: number;
}

/** A fleet whose clusters answer in the minute in which they are ordered, but for those whose process is ended. */
function fleet(clusters: readonly Cluster[]) {
  let shards: ReadonlyMap<string, Shard> = new Map();
  const heard = new Map<string, number>();
  let minute = -1;
  return {
    heard,
    /** @param now the clusters of this minute @returns the shards, by name */
    tick: (now: readonly Cluster[] = clusters, isKnown = true): ReadonlyMap<string, readonly string[]> => {
      minute += 1;
      const tick = NOW + minute * MINUTE;
      const members = now.map(
        ({ id, lane = LANE, slow = false, heavyAt }): ShardMember => ({
          id,
          lane,
          quick: !slow,
          heavyAt,
          heardAt: heard.get(id),
          before: shards.get(id),
        }),
      );
      shards = assignShards(members, tick, isKnown);
      const byName = Map.groupBy(now, ({ id }) => shards.get(id)?.name ?? '');
      for (const some of byName.values())
        if (!some.some(({ kills }) => kills)) for (const { id } of some) heard.set(id, tick + 2_000);
      return new Map([...byName].map(([name, some]) => [name, some.map(({ id }) => id)]));
    },
  };
}

const many = (count: number, changed: (n: number) => Partial<Cluster> = () => ({})): Cluster[] =>
  Array.from({ length: count }, (_, n) => ({ id: `c${String(n).padStart(4, '0')}`, ...changed(n) }));
const sizes = (shards: ReadonlyMap<string, readonly string[]>) =>
  [...shards.values()].map(({ length }) => length).toSorted((a, b) => b - a);
const ofKind = (shards: ReadonlyMap<string, readonly string[]>, kind: string) =>
  [...shards].filter(([name]) => name.startsWith(`${LANE}.${kind}.`)).map(([, ids]) => ids);

describe('assignShards', () => {
  it('fills shards, each of one lane and one kind', () => {
    const clusters = many(120, (n) => ({ lane: n % 2 === 0 ? LANE : 'onprem', slow: n % 3 === 0 }));
    const shards = fleet(clusters).tick();
    expect(sizes(shards)).toEqual([32, 32, 20, 20, 8, 8]);
    const byId = new Map(clusters.map((cluster) => [cluster.id, cluster]));
    for (const ids of shards.values())
      expect(new Set(ids.map((id) => [byId.get(id)?.lane, byId.get(id)?.slow].join())).size).toBe(1);
  });

  it('keeps every cluster where it is, from minute to minute', () => {
    const { tick } = fleet(many(1_000, (n) => ({ slow: n % 10 === 0 })));
    const first = tick();
    expect(first.size).toBe(33);
    for (let n = 0; n < 10; n += 1) expect(tick()).toEqual(first);
  });

  it('moves few when clusters join and leave, and never has many shards that are nearly empty', () => {
    const all = many(400);
    const { tick } = fleet(all);
    let before = tick(all.slice(0, 300));
    const placeOf = (shards: typeof before) =>
      new Map([...shards].flatMap(([name, ids]) => ids.map((id) => [id, name])));
    for (let n = 0; n < 30; n += 1) {
      const now = all.filter((_, index) => (index * 7 + n * 13) % 400 >= n * 10);
      const after = tick(now);
      const [was, is] = [placeOf(before), placeOf(after)];
      const moved = [...is].filter(([id, name]) => was.has(id) && was.get(id) !== name);
      const changed = [...is].filter(([id]) => !was.has(id)).length + [...was].filter(([id]) => !is.has(id)).length;
      expect(moved.length).toBeLessThanOrEqual(Math.max(SHARD_SIZE, changed));
      expect(after.size).toBeLessThanOrEqual(Math.ceil(now.length / (0.8 * SHARD_SIZE)));
      before = after;
    }
  });

  it('has slow clusters share shards with each other, and gives them back when they are quick again', () => {
    const slow = many(100, (n) => ({ slow: n % 10 === 0 }));
    const { tick } = fleet(slow);
    expect(ofKind(tick(), 'slow')).toEqual([slow.filter(({ slow: is }) => is).map(({ id }) => id)]);
    expect(ofKind(tick(many(100)), 'slow')).toEqual([]);
  });

  it('sweeps a cluster that took the thread alone for a day', () => {
    const { tick } = fleet(many(50, (n) => (n === 7 ? { heavyAt: NOW - DAY + 3 * MINUTE } : {})));
    for (let n = 0; n < 3; n += 1) expect(ofKind(tick(), 'alone')).toEqual([['c0007']]);
    expect(sizes(tick())).toEqual([32, 18]);
  });

  it('leaves a cluster alone for another day that has no outcome although it is alone', () => {
    const before = { name: `${LANE}.alone.0f`, waitingSince: NOW - 10 * MINUTE, aloneUntil: NOW + MINUTE };
    const silent = { id: 'c0007', lane: LANE, quick: true, heavyAt: undefined, heardAt: undefined, before };
    expect(assignShards([silent], NOW, true).get(silent.id)?.aloneUntil).toBe(NOW + DAY);
    const heard = { ...silent, heardAt: NOW - MINUTE };
    expect(assignShards([heard], NOW, true).get(heard.id)?.aloneUntil).toBe(NOW + MINUTE);
  });

  describe('a cluster that ends its process', () => {
    it('is alone after seven minutes, and no neighbour misses more than six', () => {
      for (const culprit of [0, 12, 31, 37]) {
        const clusters = many(60);
        const world = fleet(clusters);
        for (let n = 0; n < 3; n += 1) world.tick();
        const bad = clusters.map((cluster, n) => (n === culprit ? { ...cluster, kills: true } : cluster));
        const gaps = new Map<string, number>();
        const last: { readonly alone: unknown; readonly parts: readonly unknown[] }[] = [];
        for (let n = 3; n < 30; n += 1) {
          const shards = world.tick(bad);
          for (const { id } of clusters) {
            const missed = n - Math.round(((world.heard.get(id) ?? 0) - 2_000 - NOW) / MINUTE);
            gaps.set(id, Math.max(gaps.get(id) ?? 0, missed));
          }
          last.push({ alone: ofKind(shards, 'alone'), parts: ofKind(shards, 'part') });
        }
        const culpritId = clusters[culprit]?.id ?? '';
        gaps.delete(culpritId);
        expect(last.slice(7).map(({ alone }) => alone)).toEqual(Array.from({ length: 20 }, () => [[culpritId]]));
        expect(last.slice(9).flatMap(({ parts }) => parts)).toEqual([]);
        expect(Math.max(...gaps.values())).toBeLessThanOrEqual(6);
      }
    });

    it('costs its neighbours nothing a second time', () => {
      const clusters = many(50);
      const world = fleet(clusters);
      for (let n = 0; n < 20; n += 1) world.tick(clusters.map((one, at) => ({ ...one, kills: n > 2 && at === 9 })));
      // It answers for some hours, and then ends its process again.
      for (let n = 20; n < 300; n += 1) world.tick();
      for (let n = 300; n < 330; n += 1) {
        world.tick(clusters.map((one, at) => ({ ...one, kills: at === 9 })));
        const missed = clusters.filter(({ id }) => (world.heard.get(id) ?? 0) < NOW + n * MINUTE);
        expect(missed.map(({ id }) => id)).toEqual(['c0009']);
      }
    });

    it('is in a message group of its own, and the others are in groups that wait for nothing', () => {
      const clusters = many(25);
      const world = fleet(clusters);
      const [before] = [...world.tick().keys()];
      const bad = clusters.map((one, at) => ({ ...one, kills: at === 3 }));
      for (let n = 0; n < 3; n += 1) world.tick(bad);
      expect([...world.tick(bad).keys()]).not.toContain(before);
    });
  });

  it('costs a bounded number of invocations, however many are silent', () => {
    for (const count of [500, 5_000]) {
      const world = fleet(many(count, () => ({ kills: true })));
      for (let n = 0; n < 30; n += 1)
        expect(world.tick().size).toBeLessThanOrEqual(Math.ceil(count / SHARD_SIZE) + 2 * MAX_PARTS);
    }
  });

  it('keeps silent clusters from those that answer also when there is no room to separate them', () => {
    const clusters = many(2_000, (n) => ({ kills: n < 1_000 && n % 5 === 0 }));
    const world = fleet(clusters);
    for (let n = 0; n < 60; n += 1) world.tick();
    const well = clusters.filter(({ kills }) => !kills);
    const missed = well.filter(({ id }) => (world.heard.get(id) ?? 0) < NOW + 55 * MINUTE);
    expect(missed).toEqual([]);
  });

  it('brings a fleet back together after minutes without any outcome', () => {
    const clusters = many(500);
    const world = fleet(clusters);
    world.tick();
    for (let n = 0; n < 15; n += 1) world.tick(clusters.map((one) => ({ ...one, kills: true })));
    for (let n = 0; n < 15; n += 1) world.tick();
    expect(world.tick().size).toBe(16);
  });

  it('suspects nobody while the index is old, nor after minutes without a dispatch', () => {
    const clusters = many(50);
    const world = fleet(clusters);
    const first = world.tick();
    for (let n = 0; n < 5; n += 1)
      expect(
        world.tick(
          clusters.map((one) => ({ ...one, kills: true })),
          false,
        ),
      ).toEqual(first);
    const before = new Map([...first].flatMap(([name, ids]) => ids.map((id) => [id, name])));
    const later = NOW + 60 * MINUTE;
    const members = clusters.map(({ id }) => ({
      id,
      lane: LANE,
      quick: true,
      heavyAt: undefined,
      heardAt: NOW + 2_000,
      before: { name: before.get(id) ?? '', waitingSince: NOW },
    }));
    const after = assignShards(members, later, true);
    expect(new Map([...after].map(([id, { name }]) => [id, name]))).toEqual(before);
  });

  it('gives every cluster one shard of at most the size, whatever the registry and the clocks say', () => {
    const time = fc.option(fc.integer({ min: NOW - 2 * DAY, max: NOW + 2 * DAY }), { nil: undefined });
    const name = fc.constantFrom(
      'default.ordinary.1',
      'default.slow.1',
      'default.part.1',
      'default.alone.0f',
      'onprem.ordinary.1',
      'x',
    );
    const member = fc.record({
      id: fc.integer({ min: 0, max: 200 }).map(String),
      lane: fc.constantFrom('default', 'onprem'),
      quick: fc.boolean(),
      heavyAt: time,
      heardAt: time,
      before: fc.option(
        fc.record({ name, waitingSince: fc.integer({ min: 0, max: NOW + 2 * DAY }), aloneUntil: time }),
        { nil: undefined },
      ),
    });
    const members = fc.uniqueArray(member, { selector: ({ id }) => id, maxLength: 150, size: 'max' });
    fc.assert(
      fc.property(members, fc.boolean(), (some, isKnown) => {
        const assigned = assignShards(some, NOW, isKnown);
        expect(assignShards(some.toReversed(), NOW, isKnown)).toEqual(assigned);
        expect([...assigned.keys()].toSorted()).toEqual(some.map(({ id }) => id).toSorted());
        const shards = Map.groupBy(some, ({ id }) => assigned.get(id)?.name);
        for (const [shard, ids] of shards) {
          expect(ids.length).toBeLessThanOrEqual(shard?.includes('.alone.') ? 1 : SHARD_SIZE);
          expect(new Set(ids.map(({ lane }) => lane))).toEqual(new Set([shard?.split('.')[0]]));
        }
        for (const shard of assigned.values()) {
          expect(shard.waitingSince).toBeLessThanOrEqual(NOW);
          expect(shard.aloneUntil ?? NOW).toBeLessThanOrEqual(NOW + 3 * DAY);
        }
        const known = registry(...[...assigned].map(([id, shard]) => registered(id, { shard })));
        expect(parseRegistry(JSON.parse(JSON.stringify(known)), NOW)).toEqual(known);
      }),
      { seed: 9, numRuns: 300 },
    );
  });
});
