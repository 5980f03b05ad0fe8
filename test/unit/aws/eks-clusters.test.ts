import { describe, expect, it } from 'vitest';
import { createEksReader } from '../../../lambdas/aws/eks-clusters.ts';
import type { AwsScope } from '../../../lambdas/contracts/target.ts';
import { collect } from './collect.ts';
import { awsFailure } from './failure.ts';
import { type HttpAnswer, type HttpCall, json, jsonRefusal, startHttpService } from './http-service.ts';

const SCOPE: AwsScope = { account: '111122223333', region: 'eu-central-1' };
const never = new AbortController().signal;
const CLUSTER = {
  name: 'dublin',
  status: 'ACTIVE',
  endpoint: 'https://ABCDEF.gr7.eu-central-1.eks.amazonaws.com',
  certificateAuthority: { data: Buffer.from('-----BEGIN CERTIFICATE-----').toString('base64') },
  tags: { team: 'platform' },
  resourcesVpcConfig: { vpcId: 'vpc-0123456789abcdef0', endpointPublicAccess: true, subnetIds: ['subnet-1'] },
  kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16', ipFamily: 'ipv4' },
};

async function reader(answer: (call: HttpCall) => HttpAnswer | undefined) {
  const eks = await startHttpService(answer);
  const { credentials, ...config } = eks.config;
  const scopes: AwsScope[] = [];
  const read = createEksReader({
    config,
    credentials: (scope) => {
      scopes.push(scope);
      return async () => credentials;
    },
  });
  return { eks, read, scopes, [Symbol.asyncDispose]: () => eks[Symbol.asyncDispose]() };
}

async function describeWith(change: Record<string, unknown>) {
  await using run = await reader(() => json({ cluster: { ...CLUSTER, ...change } }));
  return await run.read.describeCluster(SCOPE, 'dublin', never);
}

describe('listClusters', () => {
  it('reads every page, a hundred names at a time', async () => {
    const names = Array.from({ length: 230 }, (_, index) => `c-${index}`);
    await using run = await reader(({ query }) => {
      const from = Number(query.get('nextToken') ?? 0);
      const to = from + 100;
      return json({ clusters: names.slice(from, to), ...(to < names.length && { nextToken: `${to}` }) });
    });
    const pages = await collect(run.read.listClusters(SCOPE, never));
    expect(pages.flat()).toEqual(names);
    expect(run.eks.calls).toHaveLength(3);
    expect(run.eks.calls[0]).toMatchObject({ method: 'GET', path: '/clusters', region: 'eu-central-1' });
  });

  it('keeps one client for a scope', async () => {
    await using run = await reader(() => json({ clusters: [] }));
    await collect(run.read.listClusters(SCOPE, never));
    await collect(run.read.listClusters({ ...SCOPE }, never));
    await collect(run.read.listClusters({ ...SCOPE, region: 'eu-west-1' }, never));
    expect(run.scopes.map(({ region }) => region)).toEqual(['eu-central-1', 'eu-west-1']);
  });

  it.each([
    ['a name that is none', { clusters: ['../secrets'] }],
    ['a name of control characters', { clusters: ['a\u001b[2J'] }],
    ['no list', {}],
  ])('takes no answer with %s', async (_, body) => {
    await using run = await reader(() => json(body));
    const error = await awsFailure(collect(run.read.listClusters(SCOPE, never)));
    expect(error).toMatchObject({ kind: 'invalid', object: 'eks:ListClusters in 111122223333/eu-central-1' });
    expect(error.message).not.toContain('\u001b');
  });

  it('quotes nothing of an answer that cannot be read', async () => {
    await using run = await reader(() => ({ body: '{"clusters": SENTINEL' }));
    const error = await awsFailure(collect(run.read.listClusters(SCOPE, never)));
    expect(error).toMatchObject({ kind: 'invalid' });
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('SENTINEL');
  });

  it.each([
    ['AccessDeniedException', 403, 'denied'],
    ['UnrecognizedClientException', 403, 'region'],
    ['ExpiredTokenException', 403, 'expired'],
  ])('says what %s means', async (code, status, kind) => {
    await using run = await reader(() => jsonRefusal(code, status));
    expect(await awsFailure(collect(run.read.listClusters(SCOPE, never)))).toMatchObject({ kind });
    expect(run.eks.calls).toHaveLength(1);
  });

  it('asks again when it is throttled', async () => {
    let refuse = true;
    await using run = await reader(() => {
      if (!refuse) return json({ clusters: ['a'] });
      refuse = false;
      return jsonRefusal('ThrottlingException', 429);
    });
    expect(await collect(run.read.listClusters(SCOPE, never))).toEqual([['a']]);
    expect(run.eks.calls).toHaveLength(2);
  });

  it('ends with the signal when no answer comes', async () => {
    await using run = await reader(() => undefined);
    const error = await awsFailure(collect(run.read.listClusters(SCOPE, AbortSignal.timeout(30))));
    expect(error).toMatchObject({ kind: 'aborted' });
  });
});

describe('describeCluster', () => {
  it('maps what is used', async () => {
    expect(await describeWith({})).toEqual({
      name: 'dublin',
      status: 'ACTIVE',
      endpoint: CLUSTER.endpoint,
      certificateAuthority: CLUSTER.certificateAuthority.data,
      tags: { team: 'platform' },
      vpcId: 'vpc-0123456789abcdef0',
      endpointAccess: 'public',
      serviceCidrs: ['10.100.0.0/16'],
      remoteNodeNetworks: [],
    });
  });

  it('takes a cluster that is only being created', async () => {
    await using run = await reader(() =>
      json({
        cluster: { name: 'dublin', status: 'CREATING', endpoint: null, certificateAuthority: {} },
      }),
    );
    expect(await run.read.describeCluster(SCOPE, 'dublin', never)).toEqual({
      name: 'dublin',
      status: 'CREATING',
      tags: {},
      endpointAccess: 'private',
      serviceCidrs: [],
      remoteNodeNetworks: [],
    });
    expect(run.eks.calls[0]).toMatchObject({ method: 'GET', path: '/clusters/dublin' });
  });

  it.each([
    [undefined, 'public'],
    [[], 'public'],
    [['0.0.0.0/0'], 'public'],
    [['203.0.113.5/32', '0.0.0.0/0', '::/0'], 'public'],
    [['203.0.113.5/32'], 'allow-list'],
    // Lambda outside of a VPC has no IPv6.
    [['::/0'], 'allow-list'],
  ])('knows who reaches a public endpoint with publicAccessCidrs %j: %s', async (publicAccessCidrs, access) => {
    const resourcesVpcConfig = { endpointPublicAccess: true, endpointPrivateAccess: true, publicAccessCidrs };
    expect((await describeWith({ resourcesVpcConfig })).endpointAccess).toBe(access);
  });

  it('reads both service CIDRs', async () => {
    const kubernetesNetworkConfig = { serviceIpv4Cidr: '10.100.0.0/16', serviceIpv6Cidr: 'fd00:1::/108' };
    expect((await describeWith({ kubernetesNetworkConfig })).serviceCidrs).toEqual(['10.100.0.0/16', 'fd00:1::/108']);
  });

  it('reads all networks of hybrid nodes, and not those of their pods', async () => {
    const remoteNetworkConfig = {
      remoteNodeNetworks: [{ cidrs: ['10.80.0.0/16', '10.81.0.0/16'] }, {}, { cidrs: ['10.82.0.0/16'] }],
      remotePodNetworks: [{ cidrs: ['10.85.0.0/16'] }],
    };
    const { remoteNodeNetworks } = await describeWith({ remoteNetworkConfig });
    expect(remoteNodeNetworks).toEqual(['10.80.0.0/16', '10.81.0.0/16', '10.82.0.0/16']);
  });

  const nodesIn = (remoteNodeNetworks: unknown) => ({ remoteNetworkConfig: { remoteNodeNetworks } });

  it.each([
    ['is about another cluster', { name: 'berlin' }],
    ['status is not a status', { status: 'active\n' }],
    ['status is', { status: undefined }],
    ['endpoint is not an https URL', { endpoint: 'http://a.example' }],
    ['endpoint is not an https URL', { endpoint: 'https://user@a.example' }],
    ['endpoint is not an https URL', { endpoint: `https://${'a'.repeat(600)}.example` }],
    ['certificateAuthority.data is not a CA bundle', { certificateAuthority: { data: 'not base64!' } }],
    ['certificateAuthority.data is not a CA bundle', { certificateAuthority: { data: 'A'.repeat(65_537) } }],
    [
      'tags has more than 50',
      { tags: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 'v'])) },
    ],
    ['tags.k is not text of at most 256 characters', { tags: { k: 'v'.repeat(257) } }],
    ['resourcesVpcConfig.vpcId is not the id of a VPC', { resourcesVpcConfig: { vpcId: '*' } }],
    ['resourcesVpcConfig.publicAccessCidrs is not a list', { resourcesVpcConfig: { publicAccessCidrs: '0.0.0.0/0' } }],
    ['serviceCidrs is not a list of CIDRs', { kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0' } }],
    ['serviceCidrs is not a list of CIDRs', { kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/33' } }],
    ['remoteNodeNetworks is not a list of CIDRs', nodesIn([{ cidrs: ['10.80.0.0'] }])],
    ['remoteNodeNetworks is not a list of CIDRs', nodesIn([{ cidrs: ['everything'] }])],
    [
      'remoteNodeNetworks is not a list of CIDRs',
      nodesIn([{ cidrs: Array.from({ length: 17 }, () => '10.80.0.0/16') }]),
    ],
    ['remoteNodeNetworks is not a list of at most 16', nodesIn(Array.from({ length: 17 }, () => ({})))],
  ])('takes no cluster of which %s', async (problem, change) => {
    const error = await awsFailure(describeWith(change));
    expect(error).toMatchObject({ kind: 'invalid', object: 'eks:DescribeCluster dublin in 111122223333/eu-central-1' });
    expect(error.problem).toContain(problem);
  });

  it('says that there is none', async () => {
    await using run = await reader(() => jsonRefusal('ResourceNotFoundException', 404));
    const error = await awsFailure(run.read.describeCluster(SCOPE, 'dublin', never));
    expect(error).toMatchObject({ kind: 'not-found', remedy: expect.stringContaining('deleted or renamed') });
  });
});
