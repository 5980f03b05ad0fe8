import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ownerFromInstance } from '../../../../lambdas/approval/evidence/ec2.ts';
import { attachment, instance, LAUNCHED } from '../fixtures.ts';

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

  const PUBLIC_DNS = 'ec2-203-0-113-23.eu-west-1.compute.amazonaws.com';
  const association = { PublicIp: '203.0.113.23', PublicDnsName: PUBLIC_DNS };
  const [first] = running.NetworkInterfaces;

  it('proves the public and IPv6 names of the instance', () => {
    const owner = ownerFromInstance(
      {
        ...running,
        PublicDnsName: PUBLIC_DNS,
        PublicIpAddress: '203.0.113.23',
        Ipv6Address: '2001:DB8:0::23',
        NetworkInterfaces: [{ ...first, Ipv6Addresses: [{ Ipv6Address: '2001:DB8:0::23', IsPrimaryIpv6: false }] }],
      },
      'dublin',
    );
    expect(owner?.addresses).toEqual(['10.0.1.23', '203.0.113.23', '2001:db8::23']);
    expect(owner?.dnsNames).toEqual([PRIVATE_DNS, PUBLIC_DNS, ID, `${ID}.eu-west-1.compute.internal`]);
  });

  it('proves the primary addresses of the interface with device index 0', () => {
    const entry = { PrivateIpAddress: '10.0.1.99', PrivateDnsName: 'primary.example.com', Primary: true };
    const owner = ownerFromInstance(
      {
        ...running,
        NetworkInterfaces: [
          {
            Attachment: { DeviceIndex: 0 },
            PrivateIpAddresses: [{ ...entry, Association: association }],
            Ipv6Addresses: [{ Ipv6Address: '2001:db8::23', IsPrimaryIpv6: true }],
          },
        ],
      },
      'dublin',
    );
    expect(owner?.addresses).toEqual(['10.0.1.23', '10.0.1.99', '203.0.113.23', '2001:db8::23']);
    expect(owner?.dnsNames).toEqual(expect.arrayContaining(['primary.example.com', PUBLIC_DNS]));
    expect(owner?.weakAddresses).toBeUndefined();
  });

  const SECONDARY = `is a secondary address of EC2 instance ${ID}, which its node can assign to itself: set --node-ip to the primary one`;

  it('does not prove what its node can assign to itself: secondary addresses and what is reached through them', () => {
    const owner = ownerFromInstance(
      {
        ...running,
        NetworkInterfaces: [
          {
            ...first,
            PrivateIpAddresses: [
              ...(first?.PrivateIpAddresses ?? []),
              {
                Primary: false,
                PrivateIpAddress: '10.0.1.200',
                PrivateDnsName: 'x.example.com',
                Association: association,
              },
              { PrivateIpAddress: '10.0.1.201' },
              { Primary: 'true', PrivateIpAddress: '10.0.1.202' },
            ],
            Ipv6Addresses: [{ Ipv6Address: '2001:db8::24', IsPrimaryIpv6: false }, { Ipv6Address: '2001:DB8:0::25' }],
          },
        ],
      },
      'dublin',
    );
    expect(owner?.addresses).toEqual(['10.0.1.23']);
    expect(owner?.dnsNames).toEqual([PRIVATE_DNS, ID, `${ID}.eu-west-1.compute.internal`]);
    const weak = ['10.0.1.200', '203.0.113.23', '10.0.1.201', '10.0.1.202', '2001:db8::24', '2001:db8::25'];
    expect(owner?.weakAddresses).toEqual(weak.map((address) => ({ address, why: SECONDARY })));
  });

  const second = (deviceIndex: number, time: unknown, more: object = {}) => ({
    Attachment: { ...attachment(deviceIndex, time), ...more },
    PrivateIpAddresses: [
      { Primary: true, PrivateIpAddress: '10.0.2.40', PrivateDnsName: 'ip-10-0-2-40.eu-west-1.compute.internal' },
      { Primary: false, PrivateIpAddress: '10.0.2.41' },
    ],
    Ipv6Addresses: [{ Ipv6Address: '2001:db8::40', IsPrimaryIpv6: true }],
  });
  const withInterfaces = (...NetworkInterfaces: unknown[]) =>
    ownerFromInstance({ ...running, NetworkInterfaces }, 'dublin');

  it.each<[string, unknown, unknown]>([
    ['at the same time', LAUNCHED, LAUNCHED],
    ['5 s later', LAUNCHED, '2026-02-28T08:00:05Z'],
    ['just before', LAUNCHED, '2026-02-28T07:59:59.5Z'],
    ['in another zone of time', LAUNCHED, '2026-02-28T10:00:01+02:00'],
    ['as the SDK reads it', new Date(LAUNCHED), new Date('2026-02-28T08:00:01Z')],
    ['as either', new Date(LAUNCHED), '2026-02-28T08:00:01Z'],
  ])('proves the primary addresses of an interface attached at launch: %s', (_, launch, attached) => {
    for (const [index, card] of [
      [1, 0],
      [0, 1],
    ] as const) {
      const interfaces = [
        second(index, attached, { NetworkCardIndex: card }),
        { ...first, Attachment: attachment(0, launch) },
      ];
      const owner = withInterfaces(...interfaces);
      expect(new Set(owner?.addresses)).toEqual(new Set(['10.0.1.23', '10.0.2.40', '2001:db8::40']));
      expect(owner?.dnsNames).toContain('ip-10-0-2-40.eu-west-1.compute.internal');
      expect(owner?.weakAddresses).toEqual([{ address: '10.0.2.41', why: SECONDARY }]);
      // A second interface gives the node further names, not a further identity.
      expect(owner?.nodes).toEqual([ID, PRIVATE_DNS, `${ID}.eu-west-1.compute.internal`]);
    }
  });

  const LATE = `belongs to a network interface that is not shown as attached at the launch of EC2 instance ${ID}, and its node can attach one to itself: set --node-ip to the primary address, or attach it in the launch template`;

  it.each<[string, unknown, unknown]>([
    ['attached later', first, second(1, '2026-02-28T08:00:05.001Z')],
    ['attached before', first, second(1, '2026-02-28T07:59:54Z')],
    ['attaching', first, second(1, LAUNCHED, { Status: 'attaching' })],
    ['detaching', first, second(1, LAUNCHED, { Status: 'detaching' })],
    ['in no state', first, second(1, LAUNCHED, { Status: undefined })],
    ['of which it does not tell', first, { ...second(1, LAUNCHED), Attachment: undefined }],
    ...['', '2026-02-28', '2026-02-28 08:00:00', 'Sat Feb 28 2026 08:00:00 GMT', '2026-02-30T25:00:00Z'].map(
      (time) => [`with the time “${time}”`, first, second(1, time)] as [string, unknown, unknown],
    ),
    ['with a time that is a number', first, second(1, Date.parse(LAUNCHED))],
    ['with a time that is none', first, second(1, new Date(Number.NaN))],
    ['beside a first one of no time', { ...first, Attachment: { DeviceIndex: 0 } }, second(1, undefined)],
    ['beside a first one of a wrong time', { ...first, Attachment: attachment(0, 'x') }, second(1, 'x')],
  ])('does not prove those of an interface %s', (_, primary, other) => {
    const owner = withInterfaces(primary, other);
    expect(owner?.addresses).toEqual(['10.0.1.23']);
    expect(owner?.dnsNames).not.toContain('ip-10-0-2-40.eu-west-1.compute.internal');
    expect(owner?.weakAddresses).toEqual(
      ['10.0.2.40', '10.0.2.41', '2001:db8::40'].map((address) => ({ address, why: LATE })),
    );
  });

  it('takes an interface without a network card for one of the first', () => {
    const owner = withInterfaces(
      { ...first, Attachment: { ...attachment(0), NetworkCardIndex: undefined } },
      second(1, LAUNCHED),
    );
    expect(owner?.addresses).toContain('10.0.2.40');
  });

  it.each<[string, unknown]>([
    ['is not shown', second(1, LAUNCHED)],
    ['is text', second(1, LAUNCHED, { DeviceIndex: '0' })],
    ['is of another network card', second(0, LAUNCHED, { NetworkCardIndex: 1 })],
  ])('proves only what the instance shows when device index 0 %s', (_, only) => {
    expect(withInterfaces(only)).toMatchObject({ addresses: ['10.0.1.23'] });
  });

  it('proves the same whatever its node assigns, attaches and detaches after launch', () => {
    const address = fc.oneof(fc.ipV4(), fc.constantFrom('10.0.1.23', '10.0.2.40', '10.0.1.200'));
    const secondary = address.map((PrivateIpAddress) => ({ PrivateIpAddress, Primary: false }));
    const ipv6 = fc.ipV6().map((Ipv6Address) => ({ Ipv6Address, IsPrimaryIpv6: false }));
    const attachedLater = fc
      .tuple(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 6, max: 9_000_000 }), address)
      .map(([index, seconds, PrivateIpAddress]) => ({
        Attachment: attachment(index, new Date(Date.parse(LAUNCHED) + seconds * 1000)),
        PrivateIpAddresses: [{ PrivateIpAddress, Primary: true }],
      }));
    const atLaunch = second(1, LAUNCHED);
    const property = fc.property(
      fc.array(secondary, { maxLength: 5 }),
      fc.array(ipv6, { maxLength: 3 }),
      fc.array(attachedLater, { maxLength: 3 }),
      fc.boolean(),
      (secondaries, Ipv6Addresses, later, detached) => {
        const primary = { ...first, PrivateIpAddresses: [...secondaries, ...(first?.PrivateIpAddresses ?? [])] };
        const kept = detached ? [] : [atLaunch];
        const { addresses, dnsNames, nodes } = withInterfaces(first, ...kept) ?? {};
        const changed = withInterfaces(...later, { ...primary, Ipv6Addresses }, ...kept);
        expect(changed).toMatchObject({ addresses, dnsNames, nodes });
      },
    );
    fc.assert(property, { seed: 3, numRuns: 300 });
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

  const HOST = 'ip-10-0-1-23';
  it.each([
    ['us-east-1', `${HOST}.ec2.internal`, 'us-east-1a', 'ec2.internal'],
    ['a direction', `${HOST}.us-gov-west-1.compute.internal`, 'us-gov-west-1b', 'us-gov-west-1.compute.internal'],
    ['us-east-1, resource name as host name', `${ID}.ec2.internal`, 'us-east-1a', 'ec2.internal'],
    ['a domain of the VPC owner, by its zone', `${HOST}.corp.example.com`, 'eu-west-1a', 'eu-west-1.compute.internal'],
    ['a Local Zone', `${HOST}.us-west-2.compute.internal`, 'us-west-2-lax-1a', 'us-west-2.compute.internal'],
    ['a domain of the VPC owner in us-east-1', `${HOST}.corp.example.com`, 'us-east-1f', 'ec2.internal'],
  ])('derives the resource name in %s', (_, PrivateDnsName, AvailabilityZone, domain) => {
    const nodes = nodesOf({ ...running, PrivateDnsName, Placement: { AvailabilityZone } });
    expect(nodes).toEqual([...new Set([ID, PrivateDnsName, `${ID}.${domain}`])]);
  });

  it.each([
    ['no private DNS name and no zone', { ...running, PrivateDnsName: '', Placement: {} }],
    ['a local zone only', { ...running, PrivateDnsName: '', Placement: { AvailabilityZone: 'us-west-2-lax-1a' } }],
  ])('knows it only by its id with %s', (_, object) => {
    expect(nodesOf(object)).toEqual([ID]);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['owned', { 'kubernetes.io/cluster/dublin': 'owned' }],
    ['shared', { 'kubernetes.io/cluster/dublin': 'shared' }],
    ['the tag that AWS alone writes', { 'aws:eks:cluster-name': 'dublin' }],
    ['the tag of managed node groups', { 'eks:cluster-name': 'dublin' }],
    ['the tag of Auto Mode', { 'eks:eks-cluster-name': 'dublin' }],
    ['tags of EKS, which agree', { 'aws:eks:cluster-name': 'dublin', 'eks:cluster-name': 'dublin' }],
    ['two that agree', { 'eks:eks-cluster-name': 'dublin', 'kubernetes.io/cluster/dublin': 'owned' }],
    ['and an empty tag', { 'aws:eks:cluster-name': 'dublin', 'eks:cluster-name': '' }],
    ['and a tag of no cluster', { 'aws:eks:cluster-name': 'dublin', 'kubernetes.io/cluster/oslo': 'no' }],
    ['one right tag among others', { Name: 'x', 'eks:cluster-name': 'dublin' }],
  ])('belongs to the cluster: %s', (_, tags) => {
    const owner = ownerFromInstance(tagged(...Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))), 'dublin');
    expect(owner).toEqual(ownerFromInstance(running, 'dublin'));
  });

  const useless: readonly (readonly [string, unknown])[] = [
    ['has no tags', tagged()],
    ['has tags of the wrong type', { ...running, Tags: 'kubernetes.io/cluster/dublin' }],
    ['is of another cluster', tagged({ Key: 'kubernetes.io/cluster/oslo', Value: 'owned' })],
    ['is of a cluster with a longer name', tagged({ Key: 'kubernetes.io/cluster/dublin-2', Value: 'owned' })],
    ['has another value in its tag', tagged({ Key: 'kubernetes.io/cluster/dublin', Value: 'true' })],
    ['is of another cluster by the tag of EKS', tagged({ Key: 'eks:cluster-name', Value: 'Dublin' })],
    ['is of another cluster by the tag of AWS', tagged({ Key: 'aws:eks:cluster-name', Value: 'oslo' })],
    ['is of another cluster by the tag of Auto Mode', tagged({ Key: 'eks:eks-cluster-name', Value: 'oslo' })],
    ['has no name in a tag', tagged({ Key: 'kubernetes.io/cluster/', Value: 'owned' })],
    ['has a tag that is no object', tagged('kubernetes.io/cluster/dublin=owned')],
    ['is in no state', { ...running, State: { Name: '' } }],
    ['has no state', { ...running, State: undefined }],
    ['has a state that is text', { ...running, State: 'running' }],
    ['has no id', { ...running, InstanceId: undefined }],
    ['has an id of another form', { ...running, InstanceId: 'node-1' }],
    ['has an id with a line feed', { ...running, InstanceId: `${ID}\n` }],
    ['is null', null],
    ['is a list', [running]],
  ];
  it.for(useless)('is undefined when it %s', ([, object]) => {
    expect(ownerFromInstance(object, 'dublin')).toBeUndefined();
  });

  it.each([
    ['is in the VPC of the cluster', running, 'vpc-1', true],
    ['is anywhere, while the VPC of the cluster is not known', running, undefined, true],
    ['is in another VPC', running, 'vpc-2', false],
    ['does not say in which VPC it is', { ...running, VpcId: undefined }, 'vpc-1', false],
  ])('%s', (_, object, vpcId, proves) => {
    expect(ownerFromInstance(object, 'dublin', vpcId) !== undefined).toBe(proves);
  });
});

describe('an instance that is not live', () => {
  it.each(['pending', 'shutting-down', 'stopping', 'stopped', 'terminated', 'Running'])(
    'keeps its names while it is %s',
    (state) => {
      expect(ownerFromInstance({ ...running, State: { Name: state } }, 'dublin')).toEqual({
        ...ownerFromInstance(running, 'dublin'),
        notLive: `is ${state}`,
      });
    },
  );

  const oslo = 'has tags of cluster oslo too';
  it.each([
    ['by the tag of AWS', { Key: 'aws:eks:cluster-name', Value: 'oslo' }],
    ['by the tag of managed node groups', { Key: 'eks:cluster-name', Value: 'oslo' }],
    ['by the tag of Auto Mode', { Key: 'eks:eks-cluster-name', Value: 'oslo' }],
    ['by the tag of Kubernetes', { Key: 'kubernetes.io/cluster/oslo', Value: 'shared' }],
  ])('keeps its names where its tags disagree: of another cluster too %s', (_, tag) => {
    const ours = { Key: 'kubernetes.io/cluster/dublin', Value: 'owned' };
    for (const object of [tagged(ours, tag), tagged(tag, ours), { ...tagged(ours, tag), State: { Name: 'stopped' } }])
      expect(ownerFromInstance(object, 'dublin')).toEqual({ ...ownerFromInstance(running, 'dublin'), notLive: oslo });
  });

  it('is live for none of three clusters that its tags name', () => {
    const tags = [
      { Key: 'aws:eks:cluster-name', Value: 'dublin' },
      { Key: 'eks:cluster-name', Value: 'oslo' },
      { Key: 'kubernetes.io/cluster/paris', Value: 'owned' },
    ];
    const told = ['dublin', 'oslo', 'paris'].map((name) => ownerFromInstance(tagged(...tags), name)?.notLive);
    expect(told).toEqual([oslo, 'has tags of cluster dublin too', 'has tags of cluster dublin too']);
  });

  it.each<[string, object, string?]>([
    ['of another cluster', { ...running, State: { Name: 'stopped' }, Tags: [] }],
    ['of another VPC', { ...running, State: { Name: 'stopped' } }, 'vpc-2'],
  ])('says nothing where it is %s', (_, object, vpcId) => {
    expect(ownerFromInstance(object, 'dublin', vpcId)).toBeUndefined();
  });
});

describe('Ipv6Address of an instance', () => {
  const [first] = running.NetworkInterfaces;
  const ipv6 = (...entries: readonly (readonly [address: string, primary: boolean])[]) =>
    ownerFromInstance(
      {
        ...running,
        Ipv6Address: '2001:db8::23',
        NetworkInterfaces: [
          {
            ...first,
            Ipv6Addresses: entries.map(([Ipv6Address, IsPrimaryIpv6]) => ({ Ipv6Address, IsPrimaryIpv6 })),
          },
        ],
      },
      'dublin',
    );

  it.each<[string, readonly (readonly [string, boolean])[], boolean]>([
    ['the primary one of its first interface', [['2001:db8::23', true]], true],
    ['the only one of its first interface', [['2001:db8::23', false]], true],
    [
      'one of several, none of them primary, as its node can assign more',
      [
        ['2001:db8::23', false],
        ['2001:db8::24', false],
      ],
      false,
    ],
    [
      'beside a primary one',
      [
        ['2001:db8::24', true],
        ['2001:db8::23', false],
      ],
      false,
    ],
    ['at no interface that is shown', [], false],
  ])('%s', (_, entries, owned) => {
    expect(ipv6(...entries)?.addresses.includes('2001:db8::23')).toBe(owned);
  });

  it('is not that of an interface that was attached later', () => {
    const late = {
      Attachment: attachment(1, '2026-03-01T00:00:00Z'),
      Ipv6Addresses: [{ Ipv6Address: '2001:db8::23' }],
    };
    const owner = ownerFromInstance(
      { ...running, Ipv6Address: '2001:db8::23', NetworkInterfaces: [first, late] },
      'dublin',
    );
    expect(owner?.addresses).toEqual(['10.0.1.23']);
    expect(owner?.weakAddresses).toMatchObject([{ address: '2001:db8::23' }]);
  });
});
