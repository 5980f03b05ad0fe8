import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditSummary } from '../../../lambdas/contracts/audit-summary.ts';
import type { FleetIndex, IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import { type Order, readOrders } from '../../../lambdas/contracts/order.ts';
import type { RegisteredCluster } from '../../../lambdas/contracts/registry.ts';
import { factsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { isTurnOf } from '../../../lambdas/fleet/plan-tick.ts';
import { anyTarget } from './arbitraries.ts';
import {
  at,
  auditSummary,
  BERLIN,
  DAY,
  DUBLIN,
  index,
  indexed,
  MINUTE,
  NOW,
  PARIS,
  planned,
  plannedMinutes,
  registered,
  registry,
  TROUBLE,
} from './values.ts';

const MANAGEMENT = registered('paris', { target: PARIS, managesClusters: ['eksa-system', 'team'] });
const TICKS = Array.from({ length: 10 }, (_, n) => NOW + n * MINUTE);

describe('planTick', () => {
  it('orders a sweep of each cluster that can be swept, in its lane', () => {
    const known = registry(
      registered(BERLIN.id, { target: BERLIN }),
      registered(DUBLIN.id, { target: DUBLIN }),
      registered('rome', { problem: TROUBLE }),
    );
    const readableAt = new Date(NOW - 9 * MINUTE).toISOString();
    const seen = index(
      indexed(BERLIN.id, { server: 'a:443', readableAt }),
      indexed(DUBLIN.id, { server: 'b:443', countedTo: NOW - 5 }),
    );
    expect(planned(known, seen, NOW)).toEqual({
      orders: [
        {
          shard: expect.any(Number) as unknown,
          lane: 'onprem',
          order: {
            id: BERLIN.id,
            facts: factsOf(BERLIN),
            tick: NOW,
            deadlineMs: 45_000,
            lastHeard: NOW - 9 * MINUTE,
            server: 'a:443',
          },
        },
        {
          shard: expect.any(Number) as unknown,
          lane: 'default',
          order: {
            id: DUBLIN.id,
            facts: factsOf(DUBLIN),
            tick: NOW,
            deadlineMs: 45_000,
            lastHeard: Date.parse(at()),
            countedTo: NOW - 5,
          },
        },
      ],
      problems: [TROUBLE],
    });
  });

  it('sweeps slow clusters together, audits all of a shard in one minute, and sends those last', () => {
    const ids = Array.from({ length: 120 }, (_, n) => `c${n}`);
    const known = registry(...ids.map((id) => registered(id, { target: { ...PARIS, id } })));
    const slow = new Set(ids.filter((_, n) => n % 7 === 0));
    const seen = index(...ids.map((id) => indexed(id, { readable: !slow.has(id) })));
    for (const { orders } of plannedMinutes(known, seen, { auditEveryMinutes: 15 })) {
      const shards = Map.groupBy(orders, ({ shard }) => shard);
      expect([...shards.values()].map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([18, 38, 64]);
      for (const some of shards.values()) {
        expect(new Set(some.map(({ order }) => slow.has(order.id))).size).toBe(1);
        expect(new Set(some.map(({ order }) => order.audit === undefined)).size).toBe(1);
      }
      const audited = orders.map(({ order }) => (order.audit === undefined ? 0 : 1));
      expect(audited).toEqual(audited.toSorted((a, b) => a - b));
    }
  });

  it('says which addresses were those of the API endpoint: known to the registry, or seen by the last sweep', () => {
    const known = registry(
      registered(BERLIN.id, {
        target: BERLIN,
        endpointAddresses: { '10.0.0.5': at(-29 * 24 * 60 * MINUTE), '10.0.0.4': at(-31 * 24 * 60 * MINUTE) },
      }),
    );
    const seen = index(indexed(BERLIN.id, { endpoint: { at: at(-MINUTE), addresses: ['10.0.0.6'] } }));
    expect(planned(known, seen, NOW).orders[0]?.order.endpointAddresses).toEqual(['10.0.0.6', '10.0.0.5']);
  });

  it('still sweeps a cluster that has a target and a problem', () => {
    const plan = planned(registry(registered('paris', { target: PARIS, problem: TROUBLE })), undefined, NOW);
    expect([plan.orders.length, plan.problems]).toEqual([1, [TROUBLE]]);
  });

  it('gives a cluster that did not answer less time, but for one tick in ten', () => {
    const known = registry(registered('paris', { target: PARIS }));
    const deadlines = (changed: Partial<IndexedCluster>) =>
      plannedMinutes(known, index(indexed('paris', changed)), {}, 10).map(
        ({ orders: [only] }) => only?.order.deadlineMs,
      );
    const short = [...Array(9).fill(10_000), 45_000];
    const sorted = (all: readonly (number | undefined)[]) => all.toSorted((a = 0, b = 0) => a - b);
    expect(new Set(deadlines({ durationMs: 9_999 }))).toEqual(new Set([45_000]));
    expect(sorted(deadlines({ readable: false }))).toEqual(short);
    // It answers, and takes the time of others all the same.
    expect(sorted(deadlines({ durationMs: 10_000 }))).toEqual(short);
    // Its audits take the time of its neighbours as much as its sweeps.
    expect(sorted(deadlines({ durationMs: 7, audit: auditSummary({ durationMs: 10_000 }) }))).toEqual(short);
  });

  it('trusts a cluster that nobody vouches for with little time at first', () => {
    const first = (cluster: RegisteredCluster) =>
      plannedMinutes(registry(cluster), index(), {}, 10).filter(
        ({ orders: [only] }) => only?.order.deadlineMs === 45_000,
      ).length;
    expect(first(registered('paris', { target: PARIS }))).toBe(10);
    expect(first(registered(DUBLIN.id, { target: DUBLIN, source: 'eks 111122223333/eu-central-1' }))).toBe(10);
    expect(first(registered(BERLIN.id, { target: BERLIN, source: 'cluster-api mgmt' }))).toBe(1);
  });

  it.each<[string, FleetIndex | undefined, RegExp | undefined]>([
    ['no index is known', undefined, /the fleet index is not known/],
    ['it was not swept yet', index(), /no sweep has shown yet which API server is behind it/],
    ['no sweep was let in yet', index(indexed('paris')), /no sweep has shown yet which API server is behind it/],
    ['a sweep has shown its server', index(indexed('paris', { server: 'a:443' })), undefined],
  ])('holds the writes of what EKS does not vouch for while %s, which is no problem of its own', (_, seen, why) => {
    const known = registry(registered('paris', { target: PARIS }), registered(DUBLIN.id, { target: DUBLIN }));
    const { orders, problems } = planned(known, seen, NOW);
    const [paris, dublin] = orders.map(({ order }) => order.holdWrites);
    expect(why?.test(paris ?? '')).toBe(paris === undefined ? undefined : true);
    expect([dublin, problems]).toEqual([undefined, []]);
  });

  it('lets a cluster that is missing neither hold another one nor write', () => {
    const seen = index(indexed('paris', { server: 'a:443' }), indexed(DUBLIN.id, { server: 'a:443' }));
    const gone = registered(DUBLIN.id, { target: DUBLIN, missingSince: at(-MINUTE) });
    const { orders, problems } = planned(registry(registered('paris', { target: PARIS }), gone), seen, NOW);
    expect(orders.map(({ order }) => order.holdWrites)).toEqual([undefined, expect.stringContaining('missing')]);
    expect(problems).toEqual([]);
  });

  it('looks for workload clusters at once, then one tick in ten', () => {
    const looks = (known: ReturnType<typeof index>) =>
      plannedMinutes(registry(MANAGEMENT), known, {}, 10).filter(
        ({ orders: [only] }) => only?.order.workloadClusters === true,
      );
    const read = { workloadClusters: { readAt: at(), clusters: [] } };
    expect(looks(index(indexed('paris')))).toHaveLength(10);
    expect(looks(index(indexed('paris', read)))).toHaveLength(1);
    const ordinary = planned(registry(registered('paris', { target: PARIS })), undefined, NOW);
    expect(ordinary.orders[0]?.order).not.toHaveProperty('workloadClusters', expect.anything());
  });

  it('holds the writes of clusters behind one API server, and says so', () => {
    const known = registry(registered('paris', { target: PARIS }), registered(DUBLIN.id, { target: DUBLIN }));
    const seen = index(indexed('paris', { server: 'a:443' }), indexed(DUBLIN.id, { server: 'a:443' }));
    const { orders, problems } = planned(known, seen, NOW);
    expect(orders.map(({ order }) => order.holdWrites)).toEqual(problems.map(({ message }) => message));
    expect(problems.map(({ kind, object }) => [kind, object])).toEqual([
      ['same-server', 'cluster paris'],
      ['same-server', `cluster ${DUBLIN.id}`],
    ]);
    const apart = index(indexed('paris', { server: 'a:443' }), indexed(DUBLIN.id, { server: 'a:6443' }));
    expect(planned(known, apart, NOW).problems).toEqual([]);
  });

  it('orders nothing in a lane that is not deployed, and says so', () => {
    const known = registry(registered(BERLIN.id, { target: BERLIN }), registered(DUBLIN.id, { target: DUBLIN }));
    const { orders, problems } = planned(known, undefined, NOW, { lanes: new Set(['default']) });
    expect(orders.map(({ order }) => order.id)).toEqual([DUBLIN.id]);
    expect(problems).toMatchObject([{ kind: 'lane', object: `cluster ${BERLIN.id}` }]);
  });

  it('orders only what a sweep can read', () => {
    fc.assert(
      fc.property(fc.array(anyTarget, { maxLength: 4 }), fc.boolean(), (targets, readable) => {
        const known = registry(
          ...targets.map((target) => registered(target.id, { target, managesClusters: ['eksa-system', 'team'] })),
        );
        const long = `${'h'.repeat(290)}:443`;
        const seen = index(...targets.map(({ id }) => indexed(id, { readable, server: long })));
        const { orders } = planned(known, seen, NOW);
        expect(orders).toHaveLength(Object.keys(known.clusters).length);
        for (const { order } of orders) {
          const object = { version: 5, lane: 'default', tick: NOW, shards: [{ shard: 0, orders: [order] }] };
          expect(readOrders(structuredClone(object), 'default')).toMatchObject({
            value: new Map([[0, [{ ok: true, value: JSON.parse(JSON.stringify(order)) as unknown }]]]),
          });
        }
      }),
      { seed: 13, numRuns: 100 },
    );
  });
});

describe('isTurnOf', () => {
  it('is once in each interval, at the same minute of it, and not for all at once', () => {
    const minutes = new Set<number>();
    for (const id of Array.from({ length: 100 }, (_, n) => `cluster-${n}`)) {
      const turns = TICKS.map((tick) => isTurnOf(id, 10, tick));
      expect(turns.filter(Boolean)).toHaveLength(1);
      expect(TICKS.map((tick) => isTurnOf(id, 10, tick + 10 * MINUTE + 59_999))).toEqual(turns);
      minutes.add(turns.indexOf(true));
    }
    expect(minutes.size).toBe(10);
  });
});

describe('audits', () => {
  const EVERY = 15;
  const AUDITS = { auditEveryMinutes: EVERY };
  const MANY = Array.from({ length: 1_000 }, (_, n) => `c${n}`);
  const LONG_AGO = at(-30 * DAY);
  const audited = ({ orders }: ReturnType<typeof planned>) =>
    orders.flatMap(({ order }) => (isWhole(order) ? [order.id] : []));
  const isWhole = ({ audit }: Order) => audit !== undefined && audit.stored === undefined;
  const fleet = (foundAt: string) =>
    registry(...MANY.map((id) => registered(id, { target: { ...PARIS, id }, foundAt, seenAt: foundAt })));

  it('of a fleet that is new as a whole are spread over the cadence, one for each cluster', () => {
    const made = new Map<string, IndexedCluster>();
    const minutes = Array.from({ length: EVERY }, (_, n) => {
      const tick = NOW + n * MINUTE;
      const ids = audited(planned(fleet(at()), index(...made.values()), tick, AUDITS));
      const audit = auditSummary({ auditedAt: new Date(tick).toISOString() });
      for (const id of ids) made.set(id, indexed(id, { audit }));
      return ids;
    });
    expect(minutes.flat().toSorted()).toEqual(MANY.toSorted());
    expect(Math.max(...minutes.map(({ length }) => length))).toBeLessThan(MANY.length / 4);
  });

  it('that were not made are ordered again, a part of them in each tick', () => {
    for (const before of [{ audit: auditSummary({ auditedAt: at(-DAY) }) }, {}]) {
      const seen = index(...MANY.map((id) => indexed(id, before)));
      const minutes = plannedMinutes(fleet(LONG_AGO), seen, AUDITS, 5).map(audited);
      expect(new Set(minutes.flat())).toEqual(new Set(MANY));
      expect(Math.max(...minutes.map(({ length }) => length))).toBeLessThan(MANY.length / 2);
    }
  });

  it('are not made twice by a cluster that came from another shard', () => {
    const seen = (minutes: number) =>
      index(...MANY.map((id) => indexed(id, { audit: auditSummary({ auditedAt: at(-minutes * MINUTE) }) })));
    const [soon, later] = [7, 8].map((minutes) =>
      plannedMinutes(fleet(LONG_AGO), seen(minutes), AUDITS, 1).flatMap(audited),
    );
    expect([soon?.length, (later?.length ?? 0) > 0]).toEqual([0, true]);
  });

  it('are made at the turns alone while the index is not known', () => {
    const minutes = plannedMinutes(fleet(LONG_AGO), undefined, AUDITS, EVERY).map(audited);
    expect(minutes.flat().toSorted()).toEqual(MANY.toSorted());
  });

  it('of a new cluster are made at once where a person waits for them', () => {
    const known = fleet(at());
    expect(audited(planned(known, index(), NOW, { ...AUDITS, auditNew: true }))).toHaveLength(MANY.length);
    const seen = index(...MANY.map((id) => indexed(id, { audit: auditSummary() })));
    expect(audited(planned(known, seen, NOW, { ...AUDITS, auditNew: true }))).toEqual([]);
  });

  it.each<[string, Partial<AuditSummary> | undefined, true | undefined]>([
    ['an audit that saw something', {}, true],
    ['an audit that read one source', { ends: [], sources: { read: ['nodes'], unread: [], off: [] } }, true],
    ['an audit that saw nothing', { ends: [], sources: { read: [], unread: ['nodes'], off: [] } }, undefined],
    ['no audit', undefined, undefined],
  ])('tell whether there has to be a snapshot: after %s', (_, audit, isKnown) => {
    const known = registry(registered(PARIS.id, { target: PARIS, foundAt: LONG_AGO }));
    const seen = index(indexed(PARIS.id, audit && { audit: auditSummary({ auditedAt: at(-DAY), ...audit }) }));
    const orders = plannedMinutes(known, seen, AUDITS).flatMap((plan) => plan.orders);
    expect(orders.find(({ order }) => isWhole(order))?.order.audit?.known).toBe(isKnown);
  });

  it('are replaced by the last snapshot where the index has none, until one is made', () => {
    const known = fleet(LONG_AGO);
    const stored = { stored: true };
    for (const seen of [undefined, index(), index(...MANY.map((id) => indexed(id)))]) {
      const rest = planned(known, seen, NOW, AUDITS).orders.filter(({ order }) => !isWhole(order));
      expect(rest.length).toBeGreaterThan(MANY.length / 2);
      expect(new Set(rest.map(({ order }) => JSON.stringify(order.audit)))).toEqual(new Set([JSON.stringify(stored)]));
    }
    const after = index(...MANY.map((id) => indexed(id, { audit: auditSummary() })));
    expect(planned(known, after, NOW, AUDITS).orders.filter(({ order }) => order.audit?.stored)).toEqual([]);
  });

  it('ask EKS in turns, at most a hundred in a minute, also while a cluster comes and goes', () => {
    const all = Array.from({ length: 401 }, (_, n) => registered(`c${n}`, { target: { ...DUBLIN, id: `c${n}` } }));
    const asked = new Map<string, number>();
    let longest = 0;
    for (let round = 0; round < 64; round += 1) {
      const [there, tick] = [registry(...all.slice(round % 2)), NOW + round * MINUTE];
      const { orders } = planned(there, undefined, tick, { auditEveryMinutes: 1 });
      const asking = orders.filter(({ order }) => order.audit !== undefined && order.audit.withoutEks === undefined);
      expect(asking.length).toBeLessThanOrEqual(100);
      for (const { order } of asking) {
        longest = Math.max(longest, round - (asked.get(order.id) ?? 0));
        asked.set(order.id, round);
      }
    }
    expect(asked.size).toBeGreaterThanOrEqual(400);
    expect(longest).toBe(8);
  });

  it('are not ordered where nobody asks for them', () => {
    const known = fleet(LONG_AGO);
    expect(planned(known, index(), NOW).orders.filter(({ order }) => order.audit !== undefined)).toEqual([]);
  });
});
