import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Apart } from '../../../lambdas/contracts/fleet-index.ts';
import { halveFailed, type ShardMember, shardsOf } from '../../../lambdas/fleet/shards.ts';
import { MINUTE, NOW } from './values.ts';

const IDS = Array.from({ length: 64 }, (_, n) => `c${n}`);
const membersOf = (ids: readonly string[], changed: Partial<ShardMember> = {}): readonly ShardMember[] =>
  ids.map((id) => ({ id, lane: 'default', quick: true, ...changed }));
const failed = (...shards: readonly (readonly string[])[]) => shards.map((ids) => ({ lane: 'default', ids }));

describe('shardsOf', () => {
  it('puts each cluster into one shard of at most 64 of its lane, slow ones with slow ones', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.record({ id: fc.string({ minLength: 1 }), lane: fc.constantFrom('default', 'vpc'), quick: fc.boolean() }),
          { selector: ({ id }) => id, maxLength: 300 },
        ),
        (members) => {
          const byId = new Map(members.map((member) => [member.id, member]));
          const shards = shardsOf(members, {});
          expect(shards.flatMap(({ ids }) => ids).toSorted()).toEqual([...byId.keys()].toSorted());
          for (const { lane, ids } of shards) {
            expect(ids.length).toBeLessThanOrEqual(64);
            expect(new Set(ids.map((id) => byId.get(id)?.lane))).toEqual(new Set([lane]));
            expect(new Set(ids.map((id) => byId.get(id)?.quick)).size).toBe(1);
          }
          expect(new Set(shards.map(({ name }) => name)).size).toBe(shards.length);
        },
      ),
      { seed: 16 },
    );
  });

  it('moves few clusters when one joins, whatever the order of the registry', () => {
    const many = Array.from({ length: 640 }, (_, n) => `c${n}`);
    const shardOf = (members: readonly ShardMember[]) =>
      new Map(shardsOf(members, {}).flatMap(({ name, ids }) => ids.map((id) => [id, name])));
    const before = shardOf(membersOf(many));
    expect(shardOf(membersOf(many.toReversed()))).toEqual(before);
    const after = shardOf(membersOf(['new', ...many]));
    expect(many.filter((id) => after.get(id) !== before.get(id)).length).toBeLessThanOrEqual(10);
  });
});

describe('halveFailed', () => {
  it('finds the cluster that ends its process every fifth minute in seven failures, then spares its neighbours', () => {
    let apart: Apart = {};
    const lost = new Map<string, number>();
    let lastLoss = 0;
    const alone: (string | undefined)[] = [];
    for (let minute = 0; minute < 240; minute += 1) {
      const tick = NOW + minute * MINUTE;
      const shards = shardsOf(membersOf(IDS), apart);
      const ending = minute % 5 === 0 ? shards.filter(({ ids }) => ids.includes('c7')) : [];
      const others = ending.flatMap(({ ids }) => ids).filter((id) => id !== 'c7');
      for (const id of others) lost.set(id, (lost.get(id) ?? 0) + 1);
      if (others.length > 0) lastLoss = minute;
      const lane = { lane: 'default', shards: shards.length, failed: ending };
      const halved = halveFailed(apart, [lane], tick);
      ({ apart } = halved);
      alone.push(...halved.problems.map(({ kind, object }) => `${kind} ${object}`));
    }
    expect(lastLoss).toBeLessThanOrEqual(35);
    expect(new Set(alone)).toEqual(new Set(['sweep-ended cluster c7']));
    expect(Math.max(...lost.values())).toBeLessThanOrEqual(6);
  });

  it('joins a part again an hour after its last failure', () => {
    const { apart } = halveFailed({}, [{ lane: 'default', shards: 1, failed: failed(IDS) }], NOW);
    expect(shardsOf(membersOf(IDS), apart).map(({ ids }) => ids.length)).toEqual([32, 32]);
    const quiet = [{ lane: 'default', shards: 2, failed: [] }];
    expect(Object.keys(halveFailed(apart, quiet, NOW + 59 * MINUTE).apart)).toHaveLength(64);
    expect(halveFailed(apart, quiet, NOW + 60 * MINUTE).apart).toEqual({});
  });

  it.each([
    [2, 2, true],
    [3, 15, true],
    [3, 14, false],
    [157, 157, false],
  ])('of %i failed shards of %i halves: %s', (count, shards, halves) => {
    const some = Array.from({ length: count }, (_, n) => [`a${n}`, `b${n}`]);
    const { apart, problems } = halveFailed({}, [{ lane: 'default', shards, failed: failed(...some) }], NOW);
    expect(Object.keys(apart).length > 0).toBe(halves);
    expect(problems.map(({ kind, object }) => [kind, object])).toEqual(halves ? [] : [['lane-silent', 'lane default']]);
  });

  it('makes at most 50 parts in a lane, of other lanes whatever happens', () => {
    const some = Array.from({ length: 60 }, (_, n) => [`a${n}`, `b${n}`]);
    const lanes = [
      { lane: 'default', shards: 1_000, failed: failed(...some) },
      { lane: 'vpc', shards: 4, failed: [{ lane: 'vpc', ids: ['x', 'y'] }] },
    ];
    const { apart } = halveFailed({}, lanes, NOW);
    expect(new Set(Object.values(apart).flatMap(({ lane, part }) => (lane === 'default' ? [part] : []))).size).toBe(50);
    expect(apart).toHaveProperty('x');
  });

  it('forgets what is far in the future: a wrong clock must not part clusters for years', () => {
    const apart = { a: { lane: 'default', part: 'p', until: NOW + 61 * MINUTE } };
    expect(halveFailed(apart, [], NOW).apart).toEqual({});
  });
});
