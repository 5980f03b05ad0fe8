import { describe, expect, it } from 'vitest';
import { observeRollout } from '../../lambdas/rollout/observe.ts';
import { planRollout } from '../../lambdas/rollout/plan.ts';
import { born, bornEtcd, CONTROL_PLANE_UID, history, NAMESPACE, NOW, policy } from '../unit/rollout/fixtures.ts';
import { healthyWorld, type World, withEtcd } from '../unit/rollout/world.ts';
import { addressesOf, nodeOf, type Version } from './objects.ts';
import { type Provider, ROWS } from './table.ts';

const { signal } = new AbortController();

async function planned({ target }: World, changes: Parameters<typeof policy>[0] = {}) {
  const observed = await observeRollout(target, signal);
  return { observed, step: planRollout(observed, policy(changes), history(), NOW) };
}

const world = (provider: Provider, etcd: 'stacked' | 'external', version: Version = 'v1beta2'): World => {
  const made = healthyWorld(version, provider);
  if (etcd === 'external') withEtcd(made);
  return made;
};

const SHOWN = ROWS.filter(({ provider }) => addressesOf(provider, born(1)).length > 0);

describe.each(SHOWN)('on $row', ({ provider }) => {
  it.each(['v1beta2', 'v1beta1'] as const)('a control plane with etcd on it is rolled, %s', async (version) => {
    const { observed, step } = await planned(world(provider, 'stacked', version));
    expect(observed.unread).toEqual([]);
    expect(
      observed.machines.map(({ node, addresses, unhealthy, owned }) => ({ node, addresses, unhealthy, owned })),
    ).toEqual(
      [1, 2, 3].map((number) => ({
        node: nodeOf(provider, born(number)),
        addresses: [born(number).address],
        unhealthy: [],
        owned: true,
      })),
    );
    expect(step).toMatchObject({
      kind: 'act',
      write: { kind: 'roll-control-plane', object: { uid: CONTROL_PLANE_UID } },
    });
  });

  it('somebody has to vouch for room for one machine more, and is told where to look', async () => {
    const { step } = await planned(world(provider, 'stacked'), { accepted: ['etcd-backup'] });
    const room = step.checks.find(({ id }) => id === 'spare-capacity');
    expect(room).toMatchObject({ passed: false, remedy: expect.stringContaining('add spare-capacity to accepted') });
    const remedy = room?.passed === false ? room.remedy : undefined;
    expect(remedy?.includes('kubectl get hardware.tinkerbell.org')).toBe(provider.title === 'bare metal');
  });
});

describe.each(SHOWN.filter(({ provider }) => provider.externalEtcd.value))('on $row', ({ provider }) => {
  it('etcd on machines of its own is where they say, and is rolled by a person', async () => {
    const { observed, step } = await planned(world(provider, 'external'));
    expect(observed.unread).toEqual([]);
    const addresses = [1, 2, 3].map((number) => bornEtcd(number).address);
    expect(observed.etcd?.machines.map((machine) => machine.addresses)).toEqual(addresses.map((address) => [address]));
    expect(observed.etcd?.endpoints).toEqual(addresses.map((address) => `https://${address}:2379`));
    expect(step).toMatchObject({ kind: 'ask' });
  });
});

it.each(ROWS.filter((row) => !SHOWN.includes(row)))(
  'on $row nobody can look at a machine, so none is rolled',
  async ({ provider }) => {
    const { step } = await planned(world(provider, 'stacked'));
    expect(step).toMatchObject({ kind: 'hold', state: 'refused' });
    expect(step.checks.find(({ id }) => id === 'handshakes')).toMatchObject({
      passed: false,
      object: `Machine ${NAMESPACE}/${born(1).name}`,
      found: expect.stringContaining('the Machine has no address'),
    });
  },
);
