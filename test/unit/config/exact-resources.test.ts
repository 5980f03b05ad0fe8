import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../../lambdas/aws/eks-endpoint.ts';
import { PARTITION, packed, resourceProblems, spokeRoles } from '../../../lambdas/config/exact-resources.ts';
import type { Fleet } from '../../../lambdas/config/fleet.ts';
import { REGIONS } from '../../../lambdas/config/regions.ts';
import { discovery, managementCluster } from '../fleet/values.ts';
import { fleetOf } from '../lib/stacks.ts';

const arnOf = (index: number) =>
  `arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/cluster-${String(index).padStart(4, '0')}-Ab12Cd`;
const accounts = (count: number) => Array.from({ length: count }, (_, index) => String(index).padStart(12, '0'));

function fleet(spokes: number, secrets: number): Fleet {
  const kubeconfigSecrets = Object.fromEntries(
    Array.from({ length: secrets }, (_, index) => [`c${index}`, arnOf(index)] as const),
  );
  return fleetOf({
    discovery: spokes === 0 ? [] : [discovery({ accounts: accounts(spokes) })],
    managementClusters: secrets === 0 ? [] : [managementCluster({ kubeconfigSecrets })],
  });
}

describe('what a role can name', () => {
  it.each<[string, Fleet, readonly string[]]>([
    ['nothing', fleet(0, 0), []],
    ['500 secrets', fleet(0, 500), []],
    [
      '2,001 secrets',
      fleet(0, 2_000),
      [
        'the fleet names 2001 secrets with kubeconfigs. To allow exactly these takes 32 policies and there is room for 10: divide the fleet between two stacks (cdk deploy -c fleet=FILE in another account or Region)',
      ],
    ],
    ['500 secrets beside the roles of 10 accounts', fleet(10, 500), []],
    [
      'secrets for which the roles of spoke accounts leave no room',
      fleet(600, 300),
      [expect.stringContaining('301 secrets with kubeconfigs. To allow exactly these takes 5 policies')],
    ],
    [
      'too many of both',
      fleet(1_000, 1_000),
      [
        expect.stringContaining('1000 roles of spoke accounts. To allow exactly these takes'),
        expect.stringContaining('and there is room for 0: divide'),
      ],
    ],
  ])('%s', (_, given, expected) => {
    expect(resourceProblems(given).map(({ message }) => message)).toEqual(expected);
  });

  it('reserves room for the name of every partition', () => {
    for (const region of REGIONS) expect(partitionOf(region).length).toBeLessThanOrEqual(PARTITION.length);
  });

  it('needs no role in the account of the hub', () => {
    const own = { ...fleet(2, 0), hub: { ...fleet(0, 0).hub, account: accounts(2)[1] } };
    expect(spokeRoles(own)).toEqual([`arn:${PARTITION}:iam::000000000000:role/certmarshal-spoke`]);
  });

  it('packs each once, in one order, below the quota of IAM', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, maxLength: 500 }), { maxLength: 200 }), (arns) => {
        const policies = packed(arns);
        expect(policies.flat()).toEqual([...new Set(arns)].toSorted());
        for (const policy of policies) expect(policy.join('","').length).toBeLessThan(6_144 - 300);
        expect(packed(arns.toReversed())).toEqual(policies);
      }),
    );
  });
});
