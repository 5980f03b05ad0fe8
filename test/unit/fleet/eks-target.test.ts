import { describe, expect, it } from 'vitest';
import type { EksCluster } from '../../../lambdas/aws/eks-clusters.ts';
import type { EksDiscovery, Lane } from '../../../lambdas/config/fleet.ts';
import { describedCluster } from '../../../lambdas/fleet/eks-target.ts';
import { DUBLIN, discovery, eksCluster } from './values.ts';

const SCOPE = { account: '111122223333', region: 'eu-central-1' };
const VPC = 'vpc-0a1b2c3d4e5f60718';
const LANES: readonly Lane[] = [
  { name: 'other', vpcId: 'vpc-00000000', subnetIds: [], securityGroupIds: [] },
  { name: 'here', vpcId: VPC, subnetIds: [], securityGroupIds: [] },
];

describe('describedCluster', () => {
  it('is a target with all that a sweep has to know', () => {
    expect(found({})).toEqual({ id: DUBLIN.id, target: DUBLIN });
  });

  it('has its instances in its VPC, where that is known', () => {
    expect(found({ vpcId: undefined }).target?.instances).toEqual(SCOPE);
    expect(found({ vpcId: 'vpc-A' }).problem?.kind).toBe('invalid');
  });

  it.each(['UPDATING', 'ACTIVE'])('is a target while it is %s', (status) => {
    expect(found({ status }).target).toBeDefined();
  });

  it('knows where the hybrid nodes of the cluster are', () => {
    const remoteNodeNetworks = ['10.80.0.0/16'];
    expect(found({ remoteNodeNetworks }).target?.cluster).toMatchObject({ remoteNodeNetworks });
  });

  it('says nothing about Services that it does not know', () => {
    expect(found({ serviceCidrs: [] }).target?.cluster).toEqual({ name: 'dublin', provider: 'eks' });
  });

  it.each<[string, Partial<EksCluster>, Partial<EksDiscovery>, string | undefined]>([
    ['public: the default one', { endpointAccess: 'public' }, {}, 'default'],
    ['public: the one of the entry', { endpointAccess: 'public' }, { lane: 'corp' }, 'corp'],
    ...(['private', 'allow-list'] as const).flatMap(
      (endpointAccess): [string, object, object, string | undefined][] => [
        [`${endpointAccess}: the one in its VPC`, { endpointAccess }, { lane: 'corp' }, 'here'],
        [`${endpointAccess}: else the one of the entry`, { endpointAccess, vpcId: 'vpc-1' }, { lane: 'corp' }, 'corp'],
        [`${endpointAccess}: else none`, { endpointAccess, vpcId: 'vpc-1' }, {}, undefined],
      ],
    ),
  ])('has a lane for an endpoint that is %s', (_, cluster, entry, lane) => {
    expect(found(cluster, entry).target?.lane).toBe(lane);
  });

  it.each([
    ['private', /its endpoint is private/, /name a lane that is routed there in this entry of discovery/],
    ['allow-list', /publicAccessCidrs.*no fixed address/, /Elastic IP of the NAT gateway .* on the allow list/],
  ] as const)('says why no lane reaches an endpoint, and both ways out: %s', (endpointAccess, why, other) => {
    const { problem } = found({ endpointAccess, vpcId: 'vpc-12345678' });
    expect(problem).toMatchObject({ kind: 'lane', message: expect.stringMatching(why) });
    expect(problem?.remedy).toContain('vpcId: vpc-12345678');
    expect(problem?.remedy).toMatch(other);
  });

  it.each<[string, Partial<EksCluster>, string]>([
    ['created', { status: 'CREATING' }, 'passing'],
    ['deleted', { status: 'DELETING' }, 'passing'],
    ['failed', { status: 'FAILED' }, 'status'],
    ['in a state nobody knows', { status: 'SOMETHING\n' }, 'status'],
    ['without endpoint', { endpoint: undefined }, 'invalid'],
    ['without CA bundle', { certificateAuthority: undefined }, 'invalid'],
    ['behind an endpoint without TLS', { endpoint: 'http://a' }, 'invalid'],
    ['with networks of hybrid nodes that are no CIDRs', { remoteNodeNetworks: ['everything'] }, 'invalid'],
    ['with Services that are no CIDRs', { serviceCidrs: ['everything'] }, 'invalid'],
  ])('is a problem when it is %s', (_, cluster, kind) => {
    const { target, problem, unread } = found(cluster);
    expect([target, unread, problem?.kind, problem?.object]).toEqual([
      undefined,
      undefined,
      kind,
      `cluster ${DUBLIN.id}`,
    ]);
    expect(problem?.message).not.toContain('\n');
  });

  it('says that only its tags exclude it', () => {
    expect(found({ tags: { team: 'x' } }, { exclude: { tags: { team: 'x' } } })).toEqual({
      id: DUBLIN.id,
      untagged: true,
    });
  });
});

function found(cluster: Partial<EksCluster>, entry: Partial<EksDiscovery> = {}) {
  return describedCluster({ scope: SCOPE, entries: [discovery(entry)] }, eksCluster(cluster), DUBLIN.id, LANES);
}
