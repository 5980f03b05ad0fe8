import {
  DescribeInstancesCommand,
  type DescribeInstancesCommandInput,
  EC2Client,
  type Filter,
  paginateDescribeInstances,
} from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { steppedClock } from '../clock.ts';
import { awsClientConfig } from './aws-environment.ts';
import type { SimulatedInstance } from './ec2.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };

const dnsOf = (index: number) => `ip-10-0-0-${index}.eu-central-1.compute.internal`;
const instanceOf = (index: number): SimulatedInstance => ({
  InstanceId: `i-${String(index).padStart(8, '0')}`,
  PrivateDnsName: dnsOf(index),
});

describe('the simulated EC2', () => {
  let aws: SimulatedAws;
  let ec2: EC2Client;

  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 0, 1)) });
    ec2 = new EC2Client({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  const describeInstances = async (input: DescribeInstancesCommandInput) => {
    const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand(input));
    return Reservations.flatMap(({ Instances = [] }) => Instances);
  };
  const idsOf = async (...Filters: readonly Filter[]) =>
    (await describeInstances({ Filters: [...Filters] })).map(({ InstanceId }) => InstanceId);

  it('gives back all of an instance as the SDK reads it', async () => {
    const association = { PublicIp: '203.0.113.7', PublicDnsName: 'ec2-203-0-113-7.compute.amazonaws.com' };
    const instance: SimulatedInstance = {
      InstanceId: 'i-0123456789abcdef0',
      InstanceType: 'm7g.large',
      LaunchTime: new Date('2026-01-01T00:00:00.000Z'),
      PrivateDnsName: 'ip-10-0-0-1.eu-central-1.compute.internal',
      PrivateIpAddress: '10.0.0.1',
      Ipv6Address: '2001:db8::1',
      VpcId: 'vpc-1',
      State: { Code: 80, Name: 'stopped' },
      Placement: { AvailabilityZone: 'eu-central-1a' },
      PrivateDnsNameOptions: { HostnameType: 'ip-name', EnableResourceNameDnsARecord: false },
      Tags: [
        { Key: 'kubernetes.io/cluster/berlin', Value: 'owned' },
        { Key: 'Name', Value: '<"a & b">' },
      ],
      NetworkInterfaces: [
        {
          NetworkInterfaceId: 'eni-1',
          Attachment: {
            AttachmentId: 'eni-attach-1',
            AttachTime: new Date('2026-01-01T00:00:00.000Z'),
            DeviceIndex: 0,
            NetworkCardIndex: 0,
            Status: 'attached',
            DeleteOnTermination: true,
          },
          PrivateDnsName: 'ip-10-0-0-1.eu-central-1.compute.internal',
          PrivateIpAddress: '10.0.0.1',
          Association: association,
          PrivateIpAddresses: [
            { Primary: true, PrivateIpAddress: '10.0.0.1', Association: association },
            { Primary: false, PrivateIpAddress: '10.0.0.2' },
          ],
          Ipv6Addresses: [{ Ipv6Address: '2001:db8::1', IsPrimaryIpv6: false }],
        },
      ],
    };
    aws.ec2.putInstance(FRANKFURT, instance);
    expect(await describeInstances({})).toEqual([instance]);
  });

  it('shows an account and Region its own, which run unless they say otherwise', async () => {
    aws.ec2.putInstance(FRANKFURT, instanceOf(1));
    aws.ec2.putInstance({ ...FRANKFURT, region: 'eu-west-1' }, instanceOf(2));
    expect(await describeInstances({})).toEqual([{ ...instanceOf(1), State: { Code: 16, Name: 'running' } }]);
  });

  describe('filters', () => {
    beforeEach(() => {
      for (const index of [1, 2, 11]) aws.ec2.putInstance(FRANKFURT, instanceOf(index));
      aws.ec2.putInstance(FRANKFURT, {
        InstanceId: 'i-0000000a',
        PrivateDnsName: 'a.test',
        VpcId: 'vpc-1',
        State: { Name: 'stopped' },
        Tags: [{ Key: 'eks:cluster-name', Value: 'berlin' }],
      });
    });

    const dns = (...Values: readonly string[]): Filter => ({ Name: 'private-dns-name', Values: [...Values] });

    it.each<[string, Filter[], string[]]>([
      ['one of several values', [dns('a.test', dnsOf(2))], ['i-00000002', 'i-0000000a']],
      ['the whole value', [dns('ip-10-0-0-1')], []],
      ['the case', [dns(dnsOf(1).toUpperCase())], []],
      [
        'all filters',
        [dns(dnsOf(1), dnsOf(2)), { Name: 'instance-id', Values: ['i-00000001', 'i-0000000a'] }],
        ['i-00000001'],
      ],
      ['the VPC', [{ Name: 'vpc-id', Values: ['vpc-1'] }], ['i-0000000a']],
      ['the state', [{ Name: 'instance-state-name', Values: ['pending', 'stopped'] }], ['i-0000000a']],
      ['a tag', [{ Name: 'tag:eks:cluster-name', Values: ['berlin'] }], ['i-0000000a']],
    ])('match %s', async (_, filters, ids) => {
      expect(await idsOf(...filters)).toEqual(ids);
    });

    it.each<[string, Filter]>([
      ['there is none of that name', { Name: 'private-name', Values: ['x'] }],
      ['it is a pattern of any characters', dns('ip-*')],
      ['it is a pattern of one character', dns('ip-?')],
      ['it is a pattern with a backslash', dns(String.raw`a\.test`)],
    ])('are refused when %s', async (_what, filter) => {
      await expect(idsOf(filter)).rejects.toMatchObject({ name: 'InvalidParameterValue' });
    });

    it('hold 200 values in all', async () => {
      const values = Array.from({ length: 200 }, (_, index) => dnsOf(index));
      expect(await idsOf(dns(...values))).toHaveLength(3);
      await expect(idsOf(dns(...values), dns('x'))).rejects.toMatchObject({ name: 'FilterLimitExceeded' });
    });
  });

  it('shows what is left page by page', async () => {
    for (let index = 0; index < 12; index += 1) aws.ec2.putInstance(FRANKFURT, instanceOf(index));
    const sizes: number[] = [];
    for await (const { Reservations = [] } of paginateDescribeInstances({ client: ec2 }, { MaxResults: 5 }))
      sizes.push(Reservations.length);
    expect(sizes).toEqual([5, 5, 2]);
  });

  it.each<[string, DescribeInstancesCommandInput, string]>([
    ['too small a page', { MaxResults: 4 }, 'InvalidParameterValue'],
    ['ids', { InstanceIds: ['i-00000001'] }, 'InvalidParameter'],
    ['a token of somebody else', { NextToken: 'made-up' }, 'InvalidNextToken'],
    ['a dry run', { DryRun: true }, 'InvalidParameter'],
  ])('refuses %s', async (_, input, name) => {
    aws.ec2.putInstance(FRANKFURT, instanceOf(1));
    await expect(describeInstances(input)).rejects.toMatchObject({ name });
  });

  it('throttles', async () => {
    aws.throttle('ec2', { rate: 0, burst: 1 });
    await describeInstances({});
    await expect(describeInstances({})).rejects.toMatchObject({
      name: 'RequestLimitExceeded',
      $metadata: { httpStatusCode: 503 },
    });
  });
});
