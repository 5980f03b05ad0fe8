import { describe, expect, it } from 'vitest';
import { ownerFromInstance } from '../../../lambdas/approval/ec2-evidence.ts';
import { instance } from './fixtures.ts';

const ID = 'i-0123456789abcdef0';
const PRIVATE_DNS = 'ip-10-0-1-23.eu-west-1.compute.internal';
const running = instance(ID, '10.0.1.23');
const tagged = (...Tags: unknown[]) => ({ ...running, Tags });
const nodesOf = (object: unknown) => ownerFromInstance(object, 'dublin')?.nodes;

describe('ownerFromInstance', () => {
  it('knows an instance by its id, its private DNS name and its resource name', () => {
    expect(ownerFromInstance(running, 'dublin')).toEqual({
      source: 'ec2',
      object: `EC2 instance ${ID}`,
      nodes: [ID, PRIVATE_DNS, `${ID}.eu-west-1.compute.internal`],
      dnsNames: [PRIVATE_DNS, ID, `${ID}.eu-west-1.compute.internal`],
      addresses: ['10.0.1.23'],
    });
  });

  it('reads every interface: secondary, public, IPv6', () => {
    const [primary] = running.NetworkInterfaces;
    const rich = {
      ...running,
      PublicDnsName: 'ec2-203-0-113-23.eu-west-1.compute.amazonaws.com',
      PublicIpAddress: '203.0.113.23',
      Ipv6Address: '2001:DB8:0::23',
      NetworkInterfaces: [
        {
          ...primary,
          Association: { PublicIp: '203.0.113.23', PublicDnsName: 'ec2-203-0-113-23.eu-west-1.compute.amazonaws.com' },
          Ipv6Addresses: [{ Ipv6Address: '2001:db8::23' }, { Ipv6Address: '2001:db8::24' }],
        },
        {
          PrivateIpAddress: '10.0.2.40',
          PrivateDnsName: 'ip-10-0-2-40.eu-west-1.compute.internal',
          PrivateIpAddresses: [
            { PrivateIpAddress: '10.0.2.40', PrivateDnsName: 'ip-10-0-2-40.eu-west-1.compute.internal' },
            {
              PrivateIpAddress: '10.0.2.41',
              Association: {
                PublicIp: '203.0.113.41',
                PublicDnsName: 'ec2-203-0-113-41.eu-west-1.compute.amazonaws.com',
              },
            },
          ],
        },
      ],
    };
    const owner = ownerFromInstance(rich, 'dublin');
    expect(new Set(owner?.addresses)).toEqual(
      new Set(['10.0.1.23', '203.0.113.23', '2001:db8::23', '2001:db8::24', '10.0.2.40', '10.0.2.41', '203.0.113.41']),
    );
    expect(new Set(owner?.dnsNames)).toEqual(
      new Set([
        PRIVATE_DNS,
        ID,
        `${ID}.eu-west-1.compute.internal`,
        'ec2-203-0-113-23.eu-west-1.compute.amazonaws.com',
        'ip-10-0-2-40.eu-west-1.compute.internal',
        'ec2-203-0-113-41.eu-west-1.compute.amazonaws.com',
      ]),
    );
    // A second interface gives the node further names, not a further identity.
    expect(owner?.nodes).toEqual([ID, PRIVATE_DNS, `${ID}.eu-west-1.compute.internal`]);
  });

  it('takes prefixes, which are for pods, for no address of the node', () => {
    const delegated = {
      ...running,
      NetworkInterfaces: [
        {
          ...running.NetworkInterfaces[0],
          Ipv4Prefixes: [{ Ipv4Prefix: '10.0.3.0/28' }],
          Ipv6Prefixes: [{ Ipv6Prefix: '2001:db8:1::/80' }],
        },
      ],
    };
    expect(ownerFromInstance(delegated, 'dublin')?.addresses).toEqual(['10.0.1.23']);
  });

  it.each([
    ['us-east-1', 'ip-10-0-1-23.ec2.internal', 'us-east-1a', `${ID}.ec2.internal`],
    [
      'a region with a direction',
      'ip-10-0-1-23.us-gov-west-1.compute.internal',
      'us-gov-west-1b',
      `${ID}.us-gov-west-1.compute.internal`,
    ],
    ['us-east-1, resource name as host name', `${ID}.ec2.internal`, 'us-east-1a', `${ID}.ec2.internal`],
    [
      'a domain of the VPC owner, by its zone',
      'ip-10-0-1-23.corp.example.com',
      'eu-west-1a',
      `${ID}.eu-west-1.compute.internal`,
    ],
    ['a domain of the VPC owner in us-east-1', 'ip-10-0-1-23.corp.example.com', 'us-east-1f', `${ID}.ec2.internal`],
  ])('derives the resource name in %s', (_, PrivateDnsName, AvailabilityZone, resourceName) => {
    const nodes = nodesOf({ ...running, PrivateDnsName, Placement: { AvailabilityZone } });
    expect(nodes).toEqual([...new Set([ID, PrivateDnsName, resourceName])]);
  });

  it.each([
    ['no private DNS name and no zone', { ...running, PrivateDnsName: '', Placement: {} }],
    ['a local zone only', { ...running, PrivateDnsName: '', Placement: { AvailabilityZone: 'us-west-2-lax-1a' } }],
  ])('knows it only by its id with %s', (_, object) => {
    expect(nodesOf(object)).toEqual([ID]);
  });

  it.each([
    ['owned', [{ Key: 'kubernetes.io/cluster/dublin', Value: 'owned' }]],
    ['shared', [{ Key: 'kubernetes.io/cluster/dublin', Value: 'shared' }]],
    ['the tag of EKS', [{ Key: 'eks:cluster-name', Value: 'dublin' }]],
    [
      'one right tag among others',
      [
        { Key: 'Name', Value: 'x' },
        { Key: 'eks:cluster-name', Value: 'dublin' },
      ],
    ],
  ])('belongs to the cluster: %s', (_, tags) => {
    expect(nodesOf(tagged(...tags))).toBeDefined();
  });

  const useless: readonly (readonly [string, unknown])[] = [
    ['has no tags', tagged()],
    ['has tags of the wrong type', { ...running, Tags: 'kubernetes.io/cluster/dublin' }],
    ['is of another cluster', tagged({ Key: 'kubernetes.io/cluster/oslo', Value: 'owned' })],
    ['is of a cluster with a longer name', tagged({ Key: 'kubernetes.io/cluster/dublin-2', Value: 'owned' })],
    ['has another value in its tag', tagged({ Key: 'kubernetes.io/cluster/dublin', Value: 'true' })],
    ['is of another cluster by the tag of EKS', tagged({ Key: 'eks:cluster-name', Value: 'Dublin' })],
    ['has a tag that is no object', tagged('kubernetes.io/cluster/dublin=owned')],
    ...['pending', 'shutting-down', 'stopping', 'stopped', 'terminated', 'Running', ''].map(
      (Name) => [`is ${Name || 'in no state'}`, { ...running, State: { Name } }] as const,
    ),
    ['has no state', { ...running, State: undefined }],
    ['has a state that is text', { ...running, State: 'running' }],
    ['has no id', { ...running, InstanceId: undefined }],
    ['has an id of another form', { ...running, InstanceId: 'node-1' }],
    ['has an id with a line feed', { ...running, InstanceId: `${ID}\n` }],
    ['is null', null],
    ['is a list', [running]],
  ];
  it.for(useless)('proves nothing when it %s', ([, object]) => {
    expect(ownerFromInstance(object, 'dublin')).toBeUndefined();
  });
});
