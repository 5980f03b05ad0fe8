import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { eksClusterNamed, hintDue, hintedCluster } from '../../../lambdas/fleet/hints.ts';
import { DUBLIN, NOW, PARIS, registered, registry } from './values.ts';

const ACCOUNT = '111122223333';
const LOG_GROUP = '/aws/eks/dublin/cluster';
const KNOWN = registry(registered(DUBLIN.id, { target: DUBLIN }), registered('paris', { target: PARIS }));

describe('hintedCluster', () => {
  it('is the EKS cluster whose log it is', () => {
    expect(hintedCluster({ owner: ACCOUNT, logGroup: LOG_GROUP }, KNOWN)?.id).toBe(DUBLIN.id);
    expect(hintedCluster({ owner: ACCOUNT, logGroup: LOG_GROUP }, KNOWN, 'eu-central-1')?.id).toBe(DUBLIN.id);
  });

  it.each([
    ['another account', '444455556666', LOG_GROUP],
    ['a cluster that is not known', ACCOUNT, '/aws/eks/cork/cluster'],
    ['a cluster that is no EKS cluster', ACCOUNT, '/aws/eks/paris/cluster'],
    ['another log group', ACCOUNT, '/aws/lambda/dublin'],
    ['a log group that only looks like it', ACCOUNT, '/aws/eks/dublin/cluster/x'],
    ['a name that is none', ACCOUNT, `/aws/eks/${'d'.repeat(101)}/cluster`],
  ])('is none for %s', (_, owner, logGroup) => {
    expect(hintedCluster({ owner, logGroup }, KNOWN)).toBeUndefined();
  });

  it('is none in another Region, and none when two Regions have one of that name', () => {
    expect(hintedCluster({ owner: ACCOUNT, logGroup: LOG_GROUP }, KNOWN, 'us-east-1')).toBeUndefined();
    const id = `${ACCOUNT}/us-east-1/dublin`;
    const scope = { account: ACCOUNT, region: 'us-east-1' };
    const twin: Target = {
      ...DUBLIN,
      id,
      access: { ...DUBLIN.access, kind: 'eks', endpoint: 'https://a', certificateAuthority: 'Q0E=', scope },
    };
    const both = registry(registered(DUBLIN.id, { target: DUBLIN }), registered(id, { target: twin }));
    expect(hintedCluster({ owner: ACCOUNT, logGroup: LOG_GROUP }, both)).toBeUndefined();
    expect(hintedCluster({ owner: ACCOUNT, logGroup: LOG_GROUP }, both, 'us-east-1')?.id).toBe(id);
    expect(eksClusterNamed({ account: ACCOUNT, name: 'dublin', region: 'eu-central-1' }, both)?.id).toBe(DUBLIN.id);
  });
});

describe('hintDue', () => {
  it('is when the request may be judged, and at most three seconds later', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 900 }), (ms, age) => {
        const due = hintDue(NOW + ms, age);
        const earliest = NOW + ms + age * 1_000;
        expect(due >= earliest && due < earliest + 3_000).toBe(true);
        expect(due % 3_000).toBe(0);
      }),
      { seed: 18 },
    );
  });

  it('is the same for hints of the same three seconds', () => {
    expect(new Set([1, 1_500, 3_000].map((ms) => hintDue(NOW + ms, 120)))).toEqual(new Set([NOW + 123_000]));
    expect(hintDue(NOW + 3_001, 120)).toBe(NOW + 126_000);
  });
});
