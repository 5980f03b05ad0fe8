import { describe, expect, it } from 'vitest';
import { type ExpiredServer, encodeOrders, type SweepOrder } from '../../../lambdas/contracts/order.ts';
import { parseRecoveryWindows, type RecoveryWindow } from '../../../lambdas/contracts/recovery-window.ts';
import type { RolloutSummary } from '../../../lambdas/contracts/rollout-summary.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import type { TickOptions } from '../../../lambdas/fleet/plan-tick.ts';
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
  onlyOrder,
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
const WINDOW: RecoveryWindow = {
  id: 'w-1',
  cluster: 'paris',
  nodes: ['cp-a'],
  openedAt: at(-MINUTE),
  until: at(30 * MINUTE),
  by: 'arn:aws:sts::111122223333:assumed-role/oncall/x',
  approvals: 2,
  bootstrapGroups: ['system:bootstrappers:kubeadm:default-node-token'],
};

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
    [
      'until a cluster that is selected no more is told to be off',
      1,
      [{ rollouts: [] }, { at: at(14 * MINUTE), state: 'refused' }],
    ],
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
  it('is ordered as long as the window is open, and as the entry lasts', () => {
    const entry = { cluster: 'paris', until: at(3 * MINUTE), server: { pin: 'fingerprint', sha256: SHA256 } } as const;
    const orders = ordersOf({ expiredServers: [entry], recoveryWindows: [{ ...WINDOW, until: at(2 * MINUTE) }] });
    expect(orders.map((order) => [order?.recovery?.id, order?.expiredServer])).toEqual([
      ['w-1', entry.server],
      ['w-1', entry.server],
      [undefined, entry.server],
      ...Array.from({ length: 12 }, () => [undefined, undefined]),
    ]);
  });

  it('gives a cluster that does not answer all the time while its window is open', () => {
    const known = registry(registered('paris', { target: PARIS }));
    const seen = index(indexed('paris', { readable: false }));
    const deadlines = (recoveryWindows: readonly RecoveryWindow[]) =>
      plannedMinutes(known, seen, { recoveryWindows }, 10).filter(
        ({ orders: [first] }) => first?.order.deadlineMs === 45_000,
      );
    expect([deadlines([WINDOW]).length, deadlines([]).length]).toEqual([10, 1]);
  });

  it.each([
    ['of another cluster', { cluster: 'rome', until: at(DAY) }],
    ['too far ahead', { cluster: 'paris', until: at(7 * DAY + 15 * MINUTE) }],
  ])('is not ordered by an entry %s', (_, entry) => {
    const orders = ordersOf({ expiredServers: [{ ...entry, server: { pin: 'authority' } }] });
    expect(orders.every((order) => order !== undefined && order.expiredServer === undefined)).toBe(true);
  });

  it('refuses a certificate that ended before the first that the last audit saw, where an authority is pinned', () => {
    const ends = [
      { what: 'kubelet-serving', count: 3, notAfter: at(-2 * DAY), where: '10.0.0.1:10250' },
      { what: 'kube-apiserver', count: 3, notAfter: at(-DAY), where: '10.0.0.1:6443' },
    ] as const;
    const known = registry(registered('paris', { target: PARIS }));
    const seen = index(indexed('paris', { audit: auditSummary({ ends }) }));
    const expiredServerBy = (server: ExpiredServer) => {
      const expiredServers = [{ cluster: 'paris', until: at(DAY), server }];
      return planned(known, seen, NOW, { expiredServers }).orders[0]?.order.expiredServer;
    };
    expect(expiredServerBy({ pin: 'authority' })).toEqual({ pin: 'authority', replacedBefore: NOW - DAY });
    expect(expiredServerBy({ pin: 'authority', expiredAtMostMs: DAY })).toEqual({
      pin: 'authority',
      expiredAtMostMs: DAY,
      replacedBefore: NOW - DAY,
    });
    expect(expiredServerBy({ pin: 'fingerprint', sha256: SHA256 })).toEqual({ pin: 'fingerprint', sha256: SHA256 });
  });

  it('takes of two windows the one that was opened last', () => {
    const later = { ...WINDOW, id: 'w-2', openedAt: at() };
    expect(ordersOf({ recoveryWindows: [WINDOW, later] })[0]?.recovery?.id).toBe('w-2');
    expect(ordersOf({ recoveryWindows: [later, WINDOW] })[0]?.recovery?.id).toBe('w-2');
  });

  it('has windows as they are stored, or none', () => {
    expect(parseRecoveryWindows({ version: 1, windows: [WINDOW] })).toEqual([WINDOW]);
    for (const wrong of [
      undefined,
      { version: 2, windows: [] },
      { version: 1, windows: [{ ...WINDOW, until: at(61 * MINUTE) }] },
      { version: 1, windows: [{ ...WINDOW, nodes: [] }] },
      { version: 1, windows: [{ ...WINDOW, bootstrapGroups: ['system:masters'] }] },
      { version: 1, windows: Array.from({ length: 101 }, () => ({ ...WINDOW })) },
    ])
      expect(parseRecoveryWindows(wrong)).toBeUndefined();
  });
});

describe('an order', () => {
  const order: SweepOrder = {
    target: PARIS,
    tick: NOW,
    deadlineMs: 45_000,
    rollout: true,
    recovery: WINDOW,
    expiredServer: { pin: 'fingerprint', sha256: SHA256 },
  };

  it('carries them', () => {
    expect(onlyOrder(encodeOrders([order]))).toEqual({ ok: true, value: order });
    for (const expiredServer of [
      { pin: 'authority' },
      { pin: 'authority', expiredAtMostMs: 366 * DAY, replacedBefore: NOW },
    ] as const) {
      const authority: SweepOrder = { ...order, expiredServer };
      expect(onlyOrder(encodeOrders([authority]))).toEqual({ ok: true, value: authority });
    }
  });

  it.each([
    [{ rollout: false }, 'rollout is not true'],
    [{ expiredServer: { pin: 'none' } }, 'expiredServer.pin is not one of authority, fingerprint'],
    [
      { expiredServer: { pin: 'authority', expiredAtMostMs: 367 * DAY } },
      'expiredServer.expiredAtMostMs is more than 31622400000',
    ],
    [
      { expiredServer: { pin: 'authority', expiredAtMostMs: -1 } },
      'expiredServer.expiredAtMostMs is not a whole number',
    ],
    [{ expiredServer: { pin: 'fingerprint', sha256: 'x' } }, 'expiredServer.sha256 is not a SHA-256'],
    [{ recovery: { ...WINDOW, approvals: 6 } }, 'recovery is not a valid window: approvals is not 1 to 5'],
  ])('is refused with %j', (changed, problem) => {
    expect(onlyOrder(JSON.stringify({ version: 3, orders: [{ ...order, ...changed }] }))).toEqual({
      ok: false,
      problem,
    });
  });
});
