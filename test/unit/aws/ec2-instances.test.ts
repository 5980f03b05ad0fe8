import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ownerFromInstance } from '../../../lambdas/approval/evidence/ec2.ts';
import { createInstanceReader, type InstanceQuery, instanceFilters } from '../../../lambdas/aws/ec2-instances.ts';
import type { AwsScope } from '../../../lambdas/contracts/target.ts';
import { collect } from './collect.ts';
import { awsFailure } from './failure.ts';
import { ec2Refusal, type HttpAnswer, type HttpCall, startHttpService } from './http-service.ts';

const SCOPE: AwsScope = { account: '111122223333', region: 'eu-central-1' };
const never = new AbortController().signal;

const instanceXml = (id: string, dnsName: string) =>
  `<item><instancesSet><item><instanceId>${id}</instanceId><instanceState><code>16</code><name>running</name></instanceState><privateDnsName>${dnsName}</privateDnsName><privateIpAddress>10.0.0.7</privateIpAddress><tagSet><item><key>eks:cluster-name</key><value>dublin</value></item></tagSet></item></instancesSet></item>`;

function page(reservations: string, nextToken = ''): HttpAnswer {
  const token = nextToken === '' ? '' : `<nextToken>${nextToken}</nextToken>`;
  return {
    headers: { 'content-type': 'text/xml' },
    body: `<DescribeInstancesResponse><reservationSet>${reservations}</reservationSet>${token}</DescribeInstancesResponse>`,
  };
}

async function list(
  asked: readonly string[] | InstanceQuery,
  answer: (call: HttpCall) => HttpAnswer | undefined,
  signal = never,
) {
  const query = 'nodes' in asked ? asked : { nodes: asked };
  await using ec2 = await startHttpService(answer);
  const { credentials, ...config } = ec2.config;
  const listInstances = createInstanceReader({ config, credentials: () => async () => credentials });
  const pages = await collect(listInstances(SCOPE, query, signal));
  return { pages, calls: ec2.calls.map(({ form }) => Object.fromEntries(form)) };
}

/** So that no call waits for its turn. */
function withoutPace(): void {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
}

afterEach(() => void vi.restoreAllMocks());

describe('createInstanceReader', () => {
  it('asks for the names in two filters, running and managed instances alike', async () => {
    const nodes = ['ip-10-0-0-7.eu-central-1.compute.internal', 'i-0123456789abcdef0', 'mi-0123456789abcdef0'];
    const { calls } = await list(nodes, () => page(''));
    expect(calls).toEqual([
      {
        Action: 'DescribeInstances',
        Version: '2016-11-15',
        IncludeManagedResources: 'true',
        MaxResults: '1000',
        'Filter.1.Name': 'instance-id',
        'Filter.1.Value.1': 'i-0123456789abcdef0',
        'Filter.2.Name': 'instance-state-name',
        'Filter.2.Value.1': 'running',
      },
      {
        Action: 'DescribeInstances',
        Version: '2016-11-15',
        IncludeManagedResources: 'true',
        MaxResults: '1000',
        'Filter.1.Name': 'private-dns-name',
        'Filter.1.Value.1': 'ip-10-0-0-7.eu-central-1.compute.internal',
        'Filter.2.Name': 'instance-state-name',
        'Filter.2.Value.1': 'running',
      },
    ]);
  });

  it('gives instances in the shape that is evidence', async () => {
    const dnsName = 'ip-10-0-0-7.eu-central-1.compute.internal';
    const { pages } = await list([dnsName], () => page(instanceXml('i-0123456789abcdef0', dnsName)));
    const [instance] = pages.flat();
    expect(instance).toMatchObject({ InstanceId: 'i-0123456789abcdef0', State: { Name: 'running' } });
    expect(ownerFromInstance(instance, 'dublin')).toMatchObject({
      nodes: ['i-0123456789abcdef0', dnsName, 'i-0123456789abcdef0.eu-central-1.compute.internal'],
    });
  });

  it('reads every page', async () => {
    const { pages, calls } = await list(['node-1'], ({ form }) =>
      form.get('NextToken') === 'more'
        ? page(instanceXml('i-00000002', 'b'))
        : page(instanceXml('i-00000001', 'a') + instanceXml('i-00000003', 'c'), 'more'),
    );
    expect(pages.map(({ length }) => length)).toEqual([2, 1]);
    expect(calls).toHaveLength(2);
  });

  it('asks only in the VPC of the cluster where it is known', async () => {
    const { calls } = await list({ nodes: ['node-1'], vpcId: 'vpc-1' }, () => page(''));
    expect(calls).toMatchObject([{ 'Filter.3.Name': 'vpc-id', 'Filter.3.Value.1': 'vpc-1' }]);
  });

  it('asks for those of a cluster that do not run too, and never for those of nodes', async () => {
    const states = ({ calls }: Awaited<ReturnType<typeof list>>) =>
      calls.map((call) =>
        Object.entries(call).flatMap(([key, value]) => (key.startsWith('Filter.2.Value.') ? [value] : [])),
      );
    const all = ['running', 'pending', 'shutting-down', 'stopping', 'stopped'];
    const ofCluster = { nodes: [], cluster: 'dublin' };
    expect(states(await list(ofCluster, () => page('')))).toEqual([all, all, all, all]);
    expect(states(await list({ nodes: ['node-1'] }, () => page('')))).toEqual([['running']]);
  });

  it('asks for all of a cluster by each of its tags, and gives an instance that has several once', async () => {
    const { calls, pages } = await list({ nodes: ['node-1'], vpcId: 'vpc-1', cluster: 'dublin' }, ({ form }) =>
      form.get('Filter.1.Name') === 'tag:kubernetes.io/cluster/dublin'
        ? page(instanceXml('i-00000001', 'a') + instanceXml('i-00000002', 'b'))
        : page(instanceXml('i-00000001', 'a')),
    );
    const common = {
      'Filter.2.Name': 'instance-state-name',
      'Filter.2.Value.1': 'running',
      'Filter.3.Name': 'vpc-id',
      'Filter.3.Value.1': 'vpc-1',
    };
    expect(calls).toMatchObject([
      { 'Filter.1.Name': 'tag:aws:eks:cluster-name', 'Filter.1.Value.1': 'dublin', ...common },
      { 'Filter.1.Name': 'tag:eks:cluster-name', 'Filter.1.Value.1': 'dublin', ...common },
      { 'Filter.1.Name': 'tag:eks:eks-cluster-name', 'Filter.1.Value.1': 'dublin', ...common },
      {
        'Filter.1.Name': 'tag:kubernetes.io/cluster/dublin',
        'Filter.1.Value.1': 'owned',
        'Filter.1.Value.2': 'shared',
        ...common,
      },
    ]);
    expect(
      pages.map((instances) => instances.map((instance) => (instance as { InstanceId: string }).InstanceId)),
    ).toEqual([['i-00000001'], ['i-00000002']]);
  });

  it.each(['*', 'dub?in', 'dublin\\', '', 'a b', 'x'.repeat(101)])('never asks for a cluster “%s”', async (cluster) => {
    const error = await awsFailure(list({ nodes: [], cluster }, () => page(instanceXml('i-00000001', 'a'))));
    expect(error).toMatchObject({ kind: 'invalid', problem: 'the name of the cluster cannot be an EKS tag' });
  });

  it('reads at most 20,000 instances of a cluster', async () => {
    withoutPace();
    const small = (index: number) =>
      `<item><instancesSet><item><instanceId>i-${index}</instanceId></item></instancesSet></item>`;
    let next = 0;
    const answer = () =>
      page(Array.from({ length: 1_000 }, () => small((next += 1))).join(''), next < 20_500 ? 'more' : '');
    expect(await awsFailure(list({ nodes: [], cluster: 'dublin' }, answer))).toMatchObject({
      kind: 'invalid',
      problem: 'there are more than 20000 instances',
    });
    expect(next).toBe(21_000);
  });

  it('asks for no more than 200 values in all', async () => {
    const nodes = Array.from({ length: 450 }, (_, index) => `node-${index}`);
    const { calls } = await list({ nodes, vpcId: 'vpc-1' }, () => page(''));
    const values = calls.map((form) => Object.keys(form).filter((key) => key.includes('.Value.')).length);
    expect(values).toEqual([200, 200, 56]);
  });

  it('asks nobody for nodes that cannot be instances', async () => {
    expect(await list(['fargate-ip-10-0-0-1.ec2.internal', 'mi-0abc', '*', ''], () => page(''))).toEqual({
      pages: [],
      calls: [],
    });
  });

  it('asks again when it is throttled', async () => {
    let refuse = true;
    const { calls } = await list(['node-1'], () => {
      if (!refuse) return page('');
      refuse = false;
      return ec2Refusal('RequestLimitExceeded', 503);
    });
    expect(calls).toHaveLength(2);
  });

  it.each([
    ['UnauthorizedOperation', 403, 'denied'],
    ['AuthFailure', 401, 'region'],
    ['RequestExpired', 400, 'expired'],
    ['InvalidParameterValue', 400, 'invalid'],
  ])('says what %s means', async (code, status, kind) => {
    const error = await awsFailure(list(['node-1'], () => ec2Refusal(code, status)));
    expect(error).toMatchObject({ kind, object: 'ec2:DescribeInstances in 111122223333/eu-central-1' });
  });

  it('takes at most 2,000 names', async () => {
    const nodes = Array.from({ length: 2001 }, (_, index) => `node-${index}`);
    expect(await awsFailure(list(nodes, () => page('')))).toMatchObject({ kind: 'invalid' });
  });

  it('follows pages without end until the signal', async () => {
    const error = await awsFailure(list(['node-1'], () => page('', 'again'), AbortSignal.timeout(300)));
    expect(error).toMatchObject({ kind: 'aborted' });
  });

  it('ends with the signal when no answer comes', async () => {
    const error = await awsFailure(list(['node-1'], () => undefined, AbortSignal.timeout(30)));
    expect(error).toMatchObject({ kind: 'aborted' });
  });
});

describe('instanceFilters', () => {
  it.each([
    ['i-0123456789abcdef0', 'instance-id', 'i-0123456789abcdef0'],
    ['i-0123456789abcdef0.ec2.internal', 'instance-id', 'i-0123456789abcdef0'],
    ['i-0123456789abcdef0.eu-central-1.compute.internal', 'instance-id', 'i-0123456789abcdef0'],
    ['ip-10-0-0-7.ec2.internal', 'private-dns-name', 'ip-10-0-0-7.ec2.internal'],
    ['i-am-a-node', 'private-dns-name', 'i-am-a-node'],
  ])('asks for %s by %s', (node, name, value) => {
    expect(instanceFilters([node, node])).toEqual([{ name, values: [value] }]);
  });

  it.each([
    'fargate-ip-10-0-0-1.ec2.internal',
    'mi-0123456789abcdef0',
    'ip-*',
    'ip-?',
    'a\\b',
    'A',
    '',
    'a..b',
    '-a',
    'a b',
  ])('does not ask for “%s”', (node) => {
    expect(instanceFilters([node])).toEqual([]);
  });

  it('never asks with a wildcard, nor with more than 198 values, and loses no node', () => {
    const node = fc.oneof(
      fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/),
      fc.string({ unit: fc.constantFrom('a', '*', '?', '\\', '.', '-', 'i', '0'), maxLength: 12 }),
      fc.stringMatching(/^i-[0-9a-f]{17}(\.ec2\.internal)?$/),
    );
    const property = fc.property(fc.array(node, { maxLength: 600 }), (nodes) => {
      const filters = instanceFilters(nodes);
      const values = filters.flatMap((filter) => filter.values);
      expect(values.every((value) => /^[a-z0-9.-]+$/.test(value))).toBe(true);
      expect(filters.every((filter) => filter.values.length <= 198 && filter.values.length > 0)).toBe(true);
      expect(new Set(values).size).toBe(values.length);
      const plain = nodes.filter((name) => /^[a-z0-9]+$/.test(name));
      expect(plain.every((name) => values.includes(name))).toBe(true);
    });
    fc.assert(property, { seed: 2, numRuns: 200 });
  });
});
