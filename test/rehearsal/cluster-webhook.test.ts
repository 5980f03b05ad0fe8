import { CreateAccessEntryCommand } from '@aws-sdk/client-eks';
import type { AwsCredentialIdentity } from '@smithy/types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createTokenSigner } from '../../lambdas/aws/eks-token.ts';
import { type Account, assumeRole, openAccount } from './account.ts';
import { type ClusterWebhook, presignedUrl, startClusterWebhook } from './cluster-webhook.ts';
import { ACCOUNT, installMiniStack, type MiniStack, REGION, startMiniStack } from './ministack.ts';
import { createEksCluster } from './real-cluster.ts';
import { tool } from './tool.ts';

const { missing } = await tool('tokens before an STS that verifies signatures', installMiniStack);

const CLUSTER = 'dublin';
const ROLE = `arn:aws:iam::${ACCOUNT}:role/sweep`;
const UNKNOWN_ROLE = `arn:aws:iam::${ACCOUNT}:role/stranger`;

describe.skipIf(missing)('a token before an STS that verifies signatures', () => {
  let ministack: MiniStack;
  let account: Account;
  let webhook: ClusterWebhook;
  let roleMadeAt = new Date(0);

  beforeAll(async () => {
    ministack = await startMiniStack();
    account = openAccount(ministack, ACCOUNT);
    await createEksCluster(account, CLUSTER);
    webhook = await startClusterWebhook({
      cluster: CLUSTER,
      region: REGION,
      emulator: ministack,
      eks: account.eks,
      roleMadeAt: async () => roleMadeAt,
    });
    const trust = { Effect: 'Allow', Principal: { AWS: `arn:aws:iam::${ACCOUNT}:root` }, Action: 'sts:AssumeRole' };
    for (const role of ['sweep', 'stranger'])
      await account.calls.query('iam', '2010-05-08', 'CreateRole', {
        RoleName: role,
        AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [trust] }),
      });
    await account.eks.send(
      new CreateAccessEntryCommand({ clusterName: CLUSTER, principalArn: ROLE, kubernetesGroups: ['certmarshal'] }),
    );
  });

  afterAll(async () => {
    await webhook.stop();
    account.close();
    await ministack.stop();
  });

  const session = async (role: string) => assumeRole(account, role);

  const tokenOf = (identity: AwsCredentialIdentity, cluster = CLUSTER, now = Date.now()) =>
    createTokenSigner({ credentials: async () => identity, now: () => now })(cluster, REGION);

  async function review(token: string): Promise<unknown> {
    const { clusters }: { clusters: { cluster: { server: string } }[] } = parse(webhook.kubeconfig);
    const answer = await fetch(clusters[0]?.cluster.server ?? '', {
      method: 'POST',
      body: JSON.stringify({ kind: 'TokenReview', spec: { token } }),
    });
    const { status }: { status: unknown } = JSON.parse(await answer.text());
    return status;
  }

  it('is accepted from the sweep role, as a member of the group of its access entry', async () => {
    const username = `arn:aws:sts::${ACCOUNT}:assumed-role/sweep/test`;
    expect(await review(await tokenOf(await session(ROLE)))).toEqual({
      authenticated: true,
      user: { username, uid: username, groups: ['certmarshal'] },
    });
  });

  it('is refused from a role that was made after its access entry', async () => {
    roleMadeAt = new Date(Date.now() + 5_000);
    expect(await review(await tokenOf(await session(ROLE)))).toEqual({ authenticated: false });
    expect(webhook.decisions.at(-1)).toContain('older than');
    roleMadeAt = new Date(0);
  });

  it.each([
    ['signed by another key', async () => tokenOf({ ...(await session(ROLE)), secretAccessKey: 'other' }), 'Signature'],
    ['at another cluster', async () => tokenOf(await session(ROLE), 'cork'), 'Signature'],
    ['without its session token', async () => tokenOf({ ...(await session(ROLE)), sessionToken: 'x' }), 'STS: 403'],
    ['from a role without access entry', async () => tokenOf(await session(UNKNOWN_ROLE)), 'access entry'],
    ['when 16 minutes old', async () => tokenOf(await session(ROLE), CLUSTER, Date.now() - 16 * 60_000), 'expired'],
    ['when it is none', async () => 'secret', 'no token of EKS'],
  ])('is refused %s', async (_, make, reason) => {
    expect(await review(await make())).toEqual({ authenticated: false });
    expect(webhook.decisions.at(-1)).toContain(reason);
  });
});

describe('the form of a token', () => {
  const now = Date.UTC(2026, 10, 21);
  const url = (changes: Readonly<Record<string, string>> = {}, origin = `https://sts.${REGION}.amazonaws.com/`) => {
    const query = new URLSearchParams({
      Action: 'GetCallerIdentity',
      Version: '2011-06-15',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
      'X-Amz-Date': '20261121T000000Z',
      ...changes,
    });
    return `${origin}?${query.toString()}`;
  };
  const tokenFrom = (text: string) => `k8s-aws-v1.${Buffer.from(text).toString('base64url')}`;

  it('is a presigned GetCallerIdentity', () => {
    expect(presignedUrl(tokenFrom(url()), REGION, now).host).toBe(`sts.${REGION}.amazonaws.com`);
  });

  it.each([
    ['of another action', url({ Action: 'AssumeRole' }), 'GetCallerIdentity'],
    ['of another host', url({}, 'https://sts.example.com/'), 'not the STS'],
    ['of another Region', url({}, 'https://sts.us-east-1.amazonaws.com/'), 'not the STS'],
    ['without TLS', url({}, `http://sts.${REGION}.amazonaws.com/`), 'not the STS'],
    ['whose cluster is not signed', url({ 'X-Amz-SignedHeaders': 'host' }), 'not signed'],
    ['with a parameter of its own', url({ 'X-Id': 'x' }), 'unexpected parameter'],
    ['with one twice', `${url()}&action=AssumeRole`, 'twice'],
    ['without a date', url({ 'X-Amz-Date': '' }), 'X-Amz-Date'],
    ['from the future', url({ 'X-Amz-Date': '20261121T003000Z' }), 'future'],
  ])('is not one %s', (_, text, reason) => {
    expect(() => presignedUrl(tokenFrom(text), REGION, now)).toThrow(reason);
  });

  it('is base64url without padding', () => {
    expect(() => presignedUrl(`${tokenFrom(url())}==`, REGION, now)).toThrow('base64url');
  });
});
