import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SweepOrder } from '../../../lambdas/contracts/order.ts';
import { combinedOrder } from '../../../lambdas/fleet/combined-order.ts';
import { PARIS } from './values.ts';

const orderOf = (tick: number, more: Partial<SweepOrder> = {}): SweepOrder => ({
  target: PARIS,
  tick,
  deadlineMs: 45_000,
  ...more,
});

describe('combinedOrder', () => {
  it('is the newest, whatever the sequence, with all that is looked for', () => {
    const newest = orderOf(3, { holdWrites: 'same server', deadlineMs: 10_000 });
    const old = orderOf(1, { lookForClusters: ['a', 'b'] });
    const hint = orderOf(2, { lookForClusters: ['b', 'c'] });
    for (const orders of [
      [newest, old, hint],
      [old, hint, newest],
    ] as const)
      expect(combinedOrder(orders)).toEqual({ ...newest, lookForClusters: ['a', 'b', 'c'] });
  });

  it('holds no writes when only an older one did', () => {
    expect(combinedOrder([orderOf(1, { holdWrites: 'same server' }), orderOf(2)])).toEqual(orderOf(2));
  });

  it('shakes hands as the newest does', () => {
    const far = { handshakes: true } as const;
    expect(combinedOrder([orderOf(1, far), orderOf(2)])).not.toHaveProperty('handshakes', expect.anything());
    expect(combinedOrder([orderOf(1), orderOf(2, far)])).toMatchObject(far);
  });

  it('audits when any of them asks for it, as far as any of them does', () => {
    const near = { secrets: true, kubeletMetrics: false };
    const far = { secrets: false, kubeletMetrics: true };
    expect(combinedOrder([orderOf(1, { audit: near }), orderOf(2)])).toEqual({ ...orderOf(2), audit: near });
    expect(combinedOrder([orderOf(1, { audit: near }), orderOf(2, { audit: far })]).audit).toEqual({
      secrets: true,
      kubeletMetrics: true,
    });
    for (const audits of [
      [near, { ...far, known: true as const }],
      [{ ...near, known: true as const }, far],
    ] as const)
      expect(combinedOrder([orderOf(1, { audit: audits[0] }), orderOf(2, { audit: audits[1] })]).audit).toEqual({
        secrets: true,
        kubeletMetrics: true,
        known: true,
      });
  });

  it('of one is that one, and of equal ticks the last', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { minLength: 1 }), (ticks) => {
        const orders = ticks.map((tick, index) => orderOf(tick, { deadlineMs: index + 1 }));
        const [first = orderOf(0), ...rest] = orders;
        expect(combinedOrder([first, ...rest])).toEqual(orders[ticks.lastIndexOf(Math.max(...ticks))]);
      }),
      { seed: 42 },
    );
  });
});
