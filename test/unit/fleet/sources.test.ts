import { describe, expect, it } from 'vitest';
import { eksSources, sourcesOf } from '../../../lambdas/fleet/sources.ts';
import { discovery, HUB, managementCluster } from './values.ts';

describe('sourcesOf', () => {
  it('names fleet.yaml, each account and Region, and each management cluster', () => {
    const fleet = {
      discovery: [discovery({ accounts: ['self', '444455556666'] }), discovery({ regions: ['us-east-1'] })],
      managementClusters: [managementCluster()],
    };
    expect(sourcesOf(fleet, HUB)).toEqual([
      'fleet.yaml',
      'eks 111122223333/eu-central-1',
      'eks 444455556666/eu-central-1',
      'eks 111122223333/us-east-1',
      'cluster-api mgmt',
    ]);
  });
});

describe('eksSources', () => {
  it('assumes the role of the entry in another account, in the partition of the hub', () => {
    const entry = discovery({ accounts: ['444455556666'], role: 'reader', externalId: 'xid', sessionTags: { a: 'b' } });
    expect(eksSources([entry], { ...HUB, partition: 'aws-cn', region: 'cn-north-1' })).toEqual([
      {
        name: 'eks 444455556666/cn-north-1',
        scope: {
          account: '444455556666',
          region: 'cn-north-1',
          role: { arn: 'arn:aws-cn:iam::444455556666:role/reader', externalId: 'xid', sessionTags: { a: 'b' } },
        },
        entries: [entry],
      },
    ]);
  });

  it('assumes none in its own account, however that is named', () => {
    for (const account of ['self', HUB.account])
      expect(eksSources([discovery({ accounts: [account] })], HUB)[0]?.scope).toEqual({
        account: HUB.account,
        region: HUB.region,
      });
  });

  it('has a Region once that is asked for twice, with a problem', () => {
    const entries = [discovery(), discovery({ accounts: [HUB.account] })];
    const sources = eksSources(entries, HUB);
    expect(sources).toHaveLength(1);
    expect(sources[0]?.entries).toEqual(entries);
    expect(sources[0]?.problem).toMatchObject({ kind: 'repeated', remedy: expect.stringContaining(HUB.account) });
  });
});
