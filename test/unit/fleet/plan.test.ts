import { describe, expect, it } from 'vitest';
import { readItem, readOrders, type SweepItem } from '../../../lambdas/contracts/order.ts';
import { createTargetsOf } from '../../../lambdas/fleet/fits-fleet.ts';
import { createPlan } from '../../../lambdas/fleet/plan.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { createTelemetry } from '../../../lambdas/telemetry/telemetry.ts';
import { compare } from '../../../lambdas/words.ts';
import { fleet } from '../config/parsing.ts';
import { memoryObjects } from '../functions/memory-objects.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import { HUB, index, indexed, NOW, PARIS, registered, registry, SECRET } from './values.ts';

const signal = new AbortController().signal;
const IDS = Array.from({ length: 600 }, (_, n) => `c${n}`);
const FLEET = fleet(
  `version: 1\nclusters:\n${IDS.map((id) => `  - { name: ${id}, provider: eks-anywhere, kubeconfigSecret: '${SECRET}' }`).join('\n')}`,
);
const STATE = {
  [STATE_KEYS.registry]: registry(...IDS.map((id) => registered(id, { target: { ...PARIS, id } }))),
  [STATE_KEYS.index]: index(...IDS.map((id) => indexed(id))),
};

function planOver(state = memoryObjects(STATE)) {
  const plan = createPlan({
    fleet: FLEET,
    targetsOf: createTargetsOf(FLEET, HUB),
    state,
    functions: new Map([['default', 'Hub-Sweep']]),
    clock: () => NOW,
    ...createTelemetry('plan'),
  });
  return { state, plan: async () => plan(NOW, signal) };
}

describe('plan', () => {
  const output = writtenByEachTest();

  it('writes the orders of all clusters, eight shards an object, and names each sweep', async () => {
    const { state, plan } = planOver();
    const items = await plan();
    expect(items).toHaveLength(10);
    expect(items[9]).toEqual({ function: 'Hub-Sweep', lane: 'default', tick: NOW, object: 1, shard: 9 });
    expect(items.map(readItem).every(({ ok }) => ok)).toBe(true);
    const idsOf = ({ object, shard }: SweepItem) => {
      const stored = state.objects.get(`orders/default/2026-11-21T1000/${object}.json.gz`);
      const orders = readOrders(stored?.value, 'default');
      return orders.ok ? (orders.value.get(shard) ?? []).flatMap(({ id }) => id ?? []) : [];
    };
    expect(items.flatMap(idsOf).toSorted(compare)).toEqual(IDS.toSorted(compare));
  });

  it('plans no tick twice: the second execution has nothing to sweep', async () => {
    const { state, plan } = planOver();
    await plan();
    const before = [...state.objects.values()].map(({ etag }) => etag);
    expect(await planOver(state).plan()).toEqual([]);
    expect(output.text()).toContain('tick planned twice');
    expect([...state.objects.values()].map(({ etag }) => etag)).toEqual(before);
  });

  it.each([
    ['there is none', {}],
    ['it is damaged', { ...STATE, [STATE_KEYS.registry]: { version: 7 } }],
  ])('plans nothing without a registry, when %s: report discovers', async (_, objects) => {
    const { state, plan } = planOver(memoryObjects(objects));
    expect(await plan()).toEqual([]);
    expect([...state.objects.keys()].filter((key) => key.startsWith('orders/'))).toEqual([]);
  });

  it('sweeps nothing that fleet.yaml does not have, whatever the registry says', async () => {
    const foreign = registry(registered('foreign', { target: { ...PARIS, id: 'foreign' } }));
    expect(await planOver(memoryObjects({ [STATE_KEYS.registry]: foreign })).plan()).toEqual([]);
  });

  it.each([STATE_KEYS.registry, STATE_KEYS.index])('fails when %s cannot be read: no order is a guess', async (key) => {
    const { state, plan } = planOver();
    state.broken.add(key);
    await expect(plan()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
