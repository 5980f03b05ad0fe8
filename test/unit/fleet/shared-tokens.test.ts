import { describe, expect, it } from 'vitest';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { sharedTokens } from '../../../lambdas/fleet/shared-tokens.ts';
import { BERLIN, DUBLIN, index, NOW, PARIS, planned, registered, registry, SECRET } from './values.ts';

const dublinIn = (account: string, region = 'eu-central-1', name = 'dublin'): Target => ({
  ...DUBLIN,
  id: `${account}/${region}/${name}`,
  cluster: { name, provider: 'eks' },
  access: { ...DUBLIN.access, scope: { account, region } } as Target['access'],
});
const found = (...targets: readonly Target[]) => targets.map((target) => registered(target.id, { target }));

describe('clusters that share tokens', () => {
  it('are EKS clusters of one name and Region, whatever the account', () => {
    const others = ['1', '2', '3', '4', '5', '6', '7'].map((digit) => dublinIn(digit.repeat(12)));
    expect(sharedTokens(found(DUBLIN, dublinIn('444455556666')))).toEqual([
      {
        kind: 'shared-token',
        object: `cluster ${DUBLIN.id}`,
        message:
          'a token for it is valid for 444455556666/eu-central-1/dublin too: it says dublin in eu-central-1 and no account',
        remedy: expect.stringContaining('hub of its own'),
      },
    ]);
    expect(sharedTokens(found(...others))).toHaveLength(1);
    expect(sharedTokens(found(...others))[0]?.message).toContain('and 1 more');
    expect(sharedTokens(found(...others.slice(1)))[0]?.message).not.toContain('more');
  });

  it('are a listed cluster and an EKS cluster that is called like its authenticatorId', () => {
    const access = { kind: 'kubeconfig', secret: SECRET, authenticatorId: 'dublin' } as const;
    expect(sharedTokens(found(DUBLIN, { ...PARIS, access }))).toMatchObject([
      { message: expect.stringContaining('paris') },
    ]);
  });

  it('are none of another Region or name, and none that has a token of its own', () => {
    expect(
      sharedTokens(found(DUBLIN, dublinIn('444455556666', 'eu-west-1'), dublinIn('444455556666', undefined, 'cork'))),
    ).toEqual([]);
    expect(sharedTokens([...found(PARIS, { ...PARIS, id: 'rome' }, BERLIN), registered('oslo')])).toEqual([]);
  });

  it('are told in each tick, and written to as ever', () => {
    const targets = [DUBLIN, dublinIn('444455556666')];
    const plan = planned(registry(...found(...targets)), index(), NOW);
    expect(plan.problems).toMatchObject([{ kind: 'shared-token' }]);
    expect(plan.orders.map(({ order }) => order.holdWrites)).toEqual([undefined, undefined]);
  });
});
