import {
  DescribeCertificateAuthorityCommand,
  DescribeClusterCommand,
  EKSClient,
  ListCertificateAuthoritiesCommand,
  ListClustersCommand,
  paginateListClusters,
} from '@aws-sdk/client-eks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SteppedClock, steppedClock } from '../clock.ts';
import { awsClientConfig } from './aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };

describe('the simulated EKS', () => {
  let clock: SteppedClock;
  let aws: SimulatedAws;
  let eks: EKSClient;

  beforeEach(async () => {
    clock = steppedClock(Date.UTC(2026, 0, 1));
    aws = await startSimulatedAws({ clock });
    eks = new EKSClient({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  const list = () => eks.send(new ListClustersCommand({}));

  it('lists the clusters of one account and Region page by page', async () => {
    const names = Array.from({ length: 250 }, (_, index) => `cluster-${index}`);
    for (const name of names) aws.eks.putCluster(FRANKFURT, { name });
    aws.eks.putCluster({ ...FRANKFURT, region: 'eu-west-1' }, { name: 'dublin' });
    aws.eks.putCluster({ ...FRANKFURT, account: '444455556666' }, { name: 'foreign' });
    const pages: (readonly string[])[] = [];
    for await (const { clusters = [] } of paginateListClusters({ client: eks }, {})) pages.push(clusters);
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(pages.flat()).toEqual(names);
  });

  it.each([{ maxResults: 101 }, { nextToken: 'made-up' }])('refuses %o', async (input) => {
    await expect(eks.send(new ListClustersCommand(input))).rejects.toMatchObject({ name: 'InvalidParameterException' });
  });

  it('describes what discovery needs', async () => {
    aws.eks.putCluster(FRANKFURT, {
      name: 'berlin',
      endpoint: 'https://127.0.0.1:6443',
      certificateAuthority: 'UEVN',
      tags: { team: 'blue' },
      vpcId: 'vpc-1',
      endpointPublicAccess: false,
      serviceIpv4Cidr: '10.100.0.0/16',
    });
    const { cluster } = await eks.send(new DescribeClusterCommand({ name: 'berlin' }));
    expect(cluster).toMatchObject({
      name: 'berlin',
      arn: 'arn:aws:eks:eu-central-1:111122223333:cluster/berlin',
      status: 'ACTIVE',
      endpoint: 'https://127.0.0.1:6443',
      certificateAuthority: { data: 'UEVN' },
      tags: { team: 'blue' },
      resourcesVpcConfig: { vpcId: 'vpc-1', endpointPublicAccess: false, endpointPrivateAccess: true },
      kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16' },
    });
  });

  it('shows a cluster that is being created without endpoint and authority', async () => {
    aws.eks.putCluster(FRANKFURT, { name: 'new', status: 'CREATING' });
    const { cluster } = await eks.send(new DescribeClusterCommand({ name: 'new' }));
    expect(cluster?.status).toBe('CREATING');
    expect(cluster?.endpoint).toBeUndefined();
    expect(cluster?.certificateAuthority?.data).toBeUndefined();
  });

  it('shows certificate authorities of a cluster', async () => {
    const [made, ends] = [Date.UTC(2026, 0, 1), Date.UTC(2031, 0, 1)];
    aws.eks.putCluster(FRANKFURT, {
      name: 'berlin',
      authorities: [{ id: 'ca-1', createdAt: made, notBefore: made, notAfter: ends, data: 'UEVN' }],
    });
    const clusterName = 'berlin';
    const { certificateAuthorities } = await eks.send(new ListCertificateAuthoritiesCommand({ clusterName }));
    expect(certificateAuthorities).toMatchObject([
      { id: 'ca-1', signingStatus: 'IN_USE', distributionStatus: 'COMPLETE' },
    ]);
    const describeAuthority = new DescribeCertificateAuthorityCommand({ clusterName, certificateAuthorityId: 'ca-1' });
    expect(await eks.send(describeAuthority)).toMatchObject({
      certificateAuthority: { createdAt: new Date(made), validity: { notAfter: new Date(ends) }, data: 'UEVN' },
    });
  });

  it('does not find a cluster that was removed', async () => {
    aws.eks.putCluster(FRANKFURT, { name: 'berlin' });
    aws.eks.removeCluster(FRANKFURT, 'berlin');
    const described = eks.send(new DescribeClusterCommand({ name: 'berlin' }));
    await expect(described).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      $metadata: { httpStatusCode: 404 },
    });
  });

  it('throttles each account in each Region by a bucket of its own, which fills by the clock', async () => {
    aws.throttle('eks', { rate: 10, burst: 2 });
    await list();
    await list();
    await expect(list()).rejects.toMatchObject({ name: 'ThrottlingException', $metadata: { httpStatusCode: 429 } });
    const elsewhere = new EKSClient(awsClientConfig(aws, { ...FRANKFURT, region: 'eu-west-1' }));
    await expect(elsewhere.send(new ListClustersCommand({}))).resolves.toBeDefined();
    await clock.advance(99);
    await expect(list()).rejects.toMatchObject({ name: 'ThrottlingException' });
    await clock.advance(1);
    await list();
    await expect(list()).rejects.toMatchObject({ name: 'ThrottlingException' });
    await clock.advance(60_000);
    await list();
    await list();
    await expect(list()).rejects.toMatchObject({ name: 'ThrottlingException' });
  });

  it('lets a client of the SDK through that tries again', async () => {
    const end = aws.throttle('eks', { rate: 0, burst: 0 });
    const patient = new EKSClient({
      ...awsClientConfig(aws, FRANKFURT),
      retryStrategy: {
        acquireInitialRetryToken: async () => ({ getRetryCount: () => 0, getRetryDelay: () => 0 }),
        refreshRetryTokenForRetry: async (token) => {
          end();
          return token;
        },
        recordSuccess: () => undefined,
      },
    });
    await patient.send(new ListClustersCommand({}));
    expect(aws.calls.map(({ status }) => status)).toEqual([429, 200]);
  });
});
