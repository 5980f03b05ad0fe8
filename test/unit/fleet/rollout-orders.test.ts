import { describe, expect, it } from 'vitest';
import type { RecoveryEntry } from '../../../lambdas/config/fleet.ts';
import type { ExpiredServer } from '../../../lambdas/contracts/order.ts';
import type { RolloutSummary } from '../../../lambdas/contracts/rollout-summary.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import type { TickOptions } from '../../../lambdas/fleet/plan-tick.ts';
import { expiredServerOf } from '../../../lambdas/fleet/recovery.ts';
import { DEFAULT_ROLLOUT_POLICY, type RolloutPolicy } from '../../../lambdas/rollout/policy.ts';
import {
  at,
  auditSummary,
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
  rolloutSummary,
} from './values.ts';

const SHA256 = '0f'.repeat(32);
const policy = (changed: Partial<RolloutPolicy> = {}): RolloutPolicy => ({
  ...DEFAULT_ROLLOUT_POLICY,
  clusters: ['*'],
  ...changed,
});
/** The orders of a cluster in a quarter of an hour. */
function ordersOf(options: TickOptions, rollout?: Partial<RolloutSummary>, target: Target = PARIS) {
  const known = registry(registered(target.id, { target }));
  const summary = rollout && { ...rolloutSummary(rollout), since: at(-DAY) };
  const seen = index(indexed(target.id, { server: 'a:443', rollout: summary }));
  return plannedMinutes(known, seen, { auditEveryMinutes: 15, ...options }).map(({ orders: [first] }) => first?.order);
}

const steps = (...args: Parameters<typeof ordersOf>) => ordersOf(...args).filter((order) => order?.rollout).length;

describe('the step of a rollout', () => {
  const rollouts = [policy({ clusters: ['paris', 'dublin'] })];

  it.each<[string, number, Parameters<typeof ordersOf>]>([
    ['once, with the audit, of a cluster that is selected', 1, [{ rollouts }, { state: 'idle', at: at(14 * MINUTE) }]],
    ['again when it was missed', 3, [{ rollouts }, { state: 'idle', at: at(-30 * MINUTE) }]],
    ['each minute while it goes on', 15, [{ rollouts }, { state: 'rolling' }]],
    ['each minute, of one that is selected no more', 15, [{ rollouts: [] }, { state: 'held' }]],
    ['until one selected no more is told to be off', 1, [{ rollouts: [] }, { at: at(14 * MINUTE), state: 'refused' }]],
    ['never of one that is not selected', 0, [{ rollouts: [] }, undefined]],
    ['never of one that is off and not selected', 0, [{ rollouts: [] }, { state: 'off' }]],
    ['never by a hint', 0, [{}, { state: 'rolling' }]],
    ['never of an EKS cluster', 0, [{ rollouts }, undefined, DUBLIN]],
  ])('is ordered %s', (_, expected, args) => {
    expect(steps(...args)).toBe(expected);
  });

  it.each([
    ['again while nobody has looked yet', index(), 3],
    ['at its turn alone while the index is not known', undefined, 1],
  ])('is ordered of a cluster that was found long ago %s', (_, seen, expected) => {
    const known = registry(registered('paris', { target: PARIS, foundAt: at(-DAY) }));
    const orders = plannedMinutes(known, seen, { auditEveryMinutes: 15, rollouts }).map((plan) =>
      plan.orders.filter(({ order }) => order.rollout),
    );
    expect(orders.flat()).toHaveLength(expected);
  });

  it('has all the time, although the cluster does not answer', () => {
    const known = registry(registered('paris', { target: PARIS }));
    const rollout = { ...rolloutSummary(), since: at() };
    const deadlines = [{ rollout }, {}].map((more) =>
      plannedMinutes(known, index(indexed('paris', { readable: false, ...more })), { rollouts: [] }, 10).filter(
        ({ orders: [first] }) => first?.order.deadlineMs === 45_000,
      ),
    );
    expect(deadlines.map(({ length }) => length)).toEqual([10, 1]);
  });
});

describe('recovery', () => {
  it('tolerates an expired certificate as long as the entry lasts', () => {
    const entry = { cluster: 'paris', until: at(3 * MINUTE), server: { pin: 'fingerprint', sha256: SHA256 } } as const;
    const orders = Array.from({ length: 15 }, (_, minute) => minute);
    expect(orders.map((minute) => expiredServerOf([entry], 'paris', undefined, NOW + minute * MINUTE))).toEqual([
      entry.server,
      entry.server,
      entry.server,
      ...Array.from({ length: 12 }, () => undefined),
    ]);
  });

  it('tolerates no expired certificate by an entry with nodes alone, and none at all that ends later than in a day', () => {
    const entry = { cluster: 'paris', nodes: ['cp-1'], bootstrapGroups: [] };
    const server = { pin: 'authority' } as const;
    const first = (given: RecoveryEntry) => expiredServerOf([given], 'paris', undefined, NOW);
    expect(first({ ...entry, until: at(DAY) })).toBeUndefined();
    expect(first({ ...entry, until: at(DAY), server })).toEqual(server);
    expect(first({ ...entry, until: at(DAY + 15 * MINUTE), server })).toBeUndefined();
  });

  it('gives a cluster that does not answer all the time while its nodes are named', () => {
    const known = registry(registered('paris', { target: PARIS }));
    const seen = index(indexed('paris', { readable: false }));
    const entry = { cluster: 'paris', until: at(30 * MINUTE), nodes: ['cp-1'], bootstrapGroups: [] };
    const deadlines = (recovery: readonly RecoveryEntry[]) =>
      plannedMinutes(known, seen, { recovery }, 10).filter(({ orders: [first] }) => first?.order.deadlineMs === 45_000);
    expect([deadlines([entry]).length, deadlines([]).length]).toEqual([10, 1]);
  });

  it.each([
    ['of another cluster', { cluster: 'rome', until: at(DAY) }],
    ['too far ahead', { cluster: 'paris', until: at(7 * DAY + 15 * MINUTE) }],
  ])('tolerates nothing by an entry %s', (_, entry) => {
    expect(expiredServerOf([{ ...entry, server: { pin: 'authority' } }], 'paris', undefined, NOW)).toBeUndefined();
  });

  it('refuses a certificate that ended before the first that the last audit saw, where an authority is pinned', () => {
    const ends = [
      { what: 'kubelet-serving', count: 3, notAfter: at(-2 * DAY), where: '10.0.0.1:10250' },
      { what: 'kube-apiserver', count: 3, notAfter: at(-DAY), where: '10.0.0.1:6443' },
    ] as const;
    const known = registry(registered('paris', { target: PARIS }));
    const seen = index(indexed('paris', { audit: auditSummary({ ends }) }));
    const expiredServerBy = (server: ExpiredServer) => {
      const recovery = [{ cluster: 'paris', until: at(DAY), server }];
      const { replacedBefore } = planned(known, seen, NOW, { recovery }).orders[0]?.order ?? {};
      return expiredServerOf(recovery, 'paris', replacedBefore, NOW);
    };
    expect(expiredServerBy({ pin: 'authority' })).toEqual({ pin: 'authority', replacedBefore: NOW - DAY });
    expect(expiredServerBy({ pin: 'authority', expiredAtMostMs: DAY })).toEqual({
      pin: 'authority',
      expiredAtMostMs: DAY,
      replacedBefore: NOW - DAY,
    });
    expect(expiredServerBy({ pin: 'fingerprint', sha256: SHA256 })).toEqual({ pin: 'fingerprint', sha256: SHA256 });
  });
});
