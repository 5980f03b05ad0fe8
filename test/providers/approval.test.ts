import { describe, expect, it } from 'vitest';
import { readClusterObject } from '../../lambdas/kubernetes/cluster-object.ts';
import { born, NAME, NAMESPACE } from '../unit/rollout/fixtures.ts';
import { healthyWorld } from '../unit/rollout/world.ts';
import { verdictOn } from './asked.ts';
import { nodeOf, servingNames } from './objects.ts';
import { ROWS } from './table.ts';

const { signal } = new AbortController();

const ASKING = ROWS.flatMap(({ row, provider }) => {
  const [own, others] = [1, 2].map((number) => servingNames(provider, born(number)));
  return own === undefined || others === undefined ? [] : [{ row, provider, own, others }];
});

describe.each(ASKING)('on $row', ({ provider, own, others }) => {
  it('what the kubelet of a machine asks for is proven by its Machine, in both versions', async () => {
    expect([own.dnsNames.length, own.addresses]).toEqual([1, [born(1).address]]);
    for (const version of ['v1beta2', 'v1beta1'] as const)
      expect(await verdictOn(healthyWorld(version, provider), own)).toMatchObject({
        verdict: 'approve',
        reason: 'Proven',
      });
  });

  it.each([
    ['the address of another machine', { ...own, addresses: others.addresses }, false],
    ['the name of another machine', { ...own, dnsNames: others.dnsNames }, true],
    // As VMware Tools may say it.
    ['its own name in a domain', { ...own, dnsNames: own.dnsNames.map((name) => `${name}.example.com`) }, false],
  ])('%s is not', async (_, names, hostile) => {
    const verdict = await verdictOn(healthyWorld('v1beta2', provider), names);
    expect(verdict).toMatchObject({ verdict: 'leave', reason: 'SanNotOwned', hostile });
  });
});

describe.each(ROWS)('on $row', ({ provider }) => {
  it('its service CIDRs are read from its Cluster', async () => {
    const { management } = healthyWorld('v1beta2', provider);
    const read = await readClusterObject(management.client, { clusterName: NAME, namespace: NAMESPACE, signal });
    const { kinds } = provider.infrastructure.value;
    expect(read).toMatchObject({ infrastructure: `${kinds}Cluster`, serviceCidrs: ['10.96.0.0/12'] });
  });
});

it.each(ROWS.filter(({ provider }) => provider.addresses.value === undefined))(
  'on $row no address is proven, so nothing is',
  async ({ provider }) => {
    const names = { dnsNames: [nodeOf(provider, born(1))], addresses: [born(1).address] };
    expect(await verdictOn(healthyWorld('v1beta2', provider), names)).toMatchObject({
      verdict: 'leave',
      reason: 'EvidenceMissing',
      facts: { cause: 'no-address', objects: [`Machine ${NAMESPACE}/${born(1).name}`] },
    });
  },
);
