import { describe, expect, it } from 'vitest';
import { matchesId, rolloutPolicyOf } from '../../../lambdas/rollout/policy-of.ts';
import { policy } from './fixtures.ts';

describe('the clusters of a policy', () => {
  it.each([
    ['*', 'berlin-mgmt/eksa-system/prod', true],
    ['*', 'edge-1', true],
    ['edge-*', 'edge-1', true],
    ['berlin-mgmt/eksa-system/prod', 'berlin-mgmt/eksa-system/prod', true],
    ['berlin-mgmt/eksa-system/*', 'berlin-mgmt/eksa-system/prod', true],
    ['*/*/prod-*', '111122223333/eu-central-1/prod-1', true],
    // What a tenant names his cluster selects none of a namespace that is not his.
    ['berlin-*', 'berlin-mgmt/tenant-x/berlin-prod', false],
    ['*-prod', 'berlin-mgmt/tenant-x/berlin-prod', false],
    ['berlin-prod', 'berlin-mgmt/tenant-x/berlin-prod', false],
    ['*/berlin-prod', 'berlin-mgmt/tenant-x/berlin-prod', false],
    ['berlin-mgmt/eksa-*', 'berlin-mgmt/eksa-system/prod', false],
    ['berlin-mgmt/eksa-system/*', 'berlin-mgmt/tenant-x/eksa-system', false],
    ['*/*', 'edge-1', false],
  ])('%s and %s: %s', (glob, id, expected) => {
    expect(matchesId(glob, id)).toBe(expected);
  });

  it('are those of the first that has its id, and a name counts for nothing', () => {
    const policies = [policy({ clusters: ['berlin-prod', '*-prod'] }), policy({ clusters: ['x', 'mgmt/*/*'] })];
    const found = { id: 'mgmt/tenant-x/berlin-prod', cluster: { name: 'berlin-prod' } };
    expect(rolloutPolicyOf(policies, found)).toBe(policies[1]);
    expect(rolloutPolicyOf(policies.slice(0, 1), found)).toBeUndefined();
  });
});
