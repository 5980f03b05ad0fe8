import { Agent } from 'node:https';
import { CreateClusterCommand, CreateNodegroupCommand } from '@aws-sdk/client-eks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createEksNodeGroups, type EksNodeGroups } from '../../lambdas/aws/eks-nodegroups.ts';
import { AwsError } from '../../lambdas/aws/errors.ts';
import { type Account, openAccount } from './account.ts';
import { ACCOUNT, installMiniStack, type MiniStack, REGION, startMiniStack } from './ministack.ts';
import { tool } from './tool.ts';

const { missing } = await tool('node groups in the emulator', installMiniStack);
const never = new AbortController().signal;
const TAG = 'certmarshal.dev/rollout-mode';

/** The emulator has no updates of node groups: how those are read and begun is tested against a fake of its own, `test/unit/aws/eks-rest-fake.ts`. */
describe.skipIf(missing)('node groups in the emulator', () => {
  let aws: MiniStack;
  let account: Account;
  let dublin: EksNodeGroups;

  beforeAll(async () => {
    aws = await startMiniStack();
    account = openAccount(aws, ACCOUNT);
    const roleArn = `arn:aws:iam::${ACCOUNT}:role/eks`;
    const trust = {
      Effect: 'Allow',
      Principal: { Service: ['eks.amazonaws.com', 'ec2.amazonaws.com'] },
      Action: 'sts:AssumeRole',
    };
    await account.calls.query('iam', '2010-05-08', 'CreateRole', {
      RoleName: 'eks',
      AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [trust] }),
    });
    await account.eks.send(
      new CreateClusterCommand({
        name: 'dublin',
        roleArn,
        version: '1.34',
        resourcesVpcConfig: { subnetIds: ['subnet-1', 'subnet-2'] },
        tags: { [TAG]: 'auto' },
      }),
    );
    await account.eks.send(
      new CreateNodegroupCommand({
        clusterName: 'dublin',
        nodegroupName: 'blue',
        nodeRole: roleArn,
        subnets: ['subnet-1'],
        amiType: 'AL2023_x86_64_STANDARD',
        releaseVersion: '1.34.1-20260901',
      }),
    );
    const options = {
      config: { endpoint: aws.endpoint, requestHandler: { httpsAgent: new Agent({ ca: aws.caPem }) } },
      credentials: () => async () => ({ accessKeyId: ACCOUNT, secretAccessKey: 'test' }),
    };
    dublin = createEksNodeGroups(options)({ account: ACCOUNT, region: REGION }, 'dublin');
  });
  afterAll(async () => {
    account?.close();
    await aws?.stop();
  });

  it('tell their cluster’s owner’s tag', async () => {
    await expect.poll(() => dublin.cluster(TAG, never)).toEqual({ status: 'ACTIVE', version: '1.34', mode: 'auto' });
  });

  it('are read', async () => {
    expect(await dublin.nodeGroups(never)).toEqual([
      {
        name: 'blue',
        createdAt: expect.toSatisfy((at: number) => Math.abs(at - Date.now()) < 60_000),
        status: 'ACTIVE',
        issues: [],
        version: '1.34',
        releaseVersion: '1.34.1-20260901',
        amiType: 'AL2023_x86_64_STANDARD',
      },
    ]);
  });

  it('have no updates here: what cannot be read is not empty, and a refusal begins nothing', async () => {
    const unread: unknown = await dublin.updates('blue', never).catch((reason: unknown) => reason);
    expect(unread).toBeInstanceOf(AwsError);
    // It refuses calls that it does not know with InvalidParameterException.
    expect(await dublin.update('blue', 'ng-0123456789abcdef0123456', never)).toMatchObject({ kind: 'refused' });
  });
});
