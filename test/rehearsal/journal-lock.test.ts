import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  type ObjectLockConfiguration,
  PutObjectCommand,
  PutObjectLockConfigurationCommand,
} from '@aws-sdk/client-s3';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createS3Journal, journalKey } from '../../lambdas/journal/s3-journal.ts';
import { PATIENCE_MS } from '../patience.ts';
import { entriesOf } from '../support/journal-lines.ts';
import { entry, never } from '../unit/journal/values.ts';
import { fleetOf, resource, stacksOf } from '../unit/lib/stacks.ts';
import { type Account, openAccount } from './account.ts';
import { ACCOUNT, installMiniStack, type MiniStack, startMiniStack } from './ministack.ts';
import { resourcesOf } from './stack.ts';
import { tool } from './tool.ts';

const SUITE = 'the lock of the journal';
const { missing } = await tool(SUITE, installMiniStack);
const STACK = 'Journal';

/** The bucket of the journal and its policy, as the hub deploys them. */
function journalTemplate() {
  const template = Template.fromStack(stacksOf(fleetOf()).hub);
  const bucket = resource(template, 'AWS::S3::Bucket', 'Journal');
  const policy = resource(template, 'AWS::S3::BucketPolicy', 'Journal');
  return {
    lock: bucket.properties['ObjectLockConfiguration'] as ObjectLockConfiguration,
    body: JSON.stringify({
      Resources: {
        [bucket.id]: { Type: 'AWS::S3::Bucket', Properties: bucket.properties },
        [policy.id]: { Type: 'AWS::S3::BucketPolicy', Properties: policy.properties },
      },
    }),
  };
}

describe.skipIf(missing)('the lock of the journal', () => {
  let ministack: MiniStack;
  let account: Account;
  let bucket: string;
  const put = (cluster: string, number: number) => {
    const journal = createS3Journal({ client: account.s3, bucket, random: () => String(number) });
    return journal.append(cluster, [entry(number)], never);
  };
  const keyOf = (cluster: string, number: number) => journalKey(cluster, entry(number).at, String(number));

  beforeAll(async () => {
    ministack = await startMiniStack();
    account = openAccount(ministack, ACCOUNT);
    const { body, lock } = journalTemplate();
    await account.calls.query('cloudformation', '2010-05-15', 'CreateStack', { StackName: STACK, TemplateBody: body });
    const bucketOf = async (): Promise<string | undefined> =>
      (await resourcesOf(account.calls, STACK)).find(({ type }) => type === 'AWS::S3::Bucket')?.physicalId;
    bucket = await vi.waitFor(
      async () => (await bucketOf()) ?? Promise.reject(new Error('no bucket yet')),
      PATIENCE_MS,
    );
    await put('before', 1);
    // CloudFormation of the emulator ignores it.
    await account.s3.send(new PutObjectLockConfigurationCommand({ Bucket: bucket, ObjectLockConfiguration: lock }));
    await put('later', 2);
  });

  afterAll(async () => {
    account?.close();
    await ministack?.stop();
  });

  it('keeps the lines from before', async () => {
    const { Body } = await account.s3.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf('before', 1) }));
    expect(entriesOf((await Body?.transformToString()) ?? '')).toEqual([entry(1)]);
  });

  it('lets nobody delete the version of a later line', async () => {
    const Key = keyOf('later', 2);
    const { Versions = [] } = await account.s3.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: Key }));
    const [version] = Versions;
    const remove = account.s3.send(new DeleteObjectCommand({ Bucket: bucket, Key, VersionId: version?.VersionId }));
    await expect(remove).rejects.toMatchObject({ name: 'AccessDenied' });
    const left = await account.s3.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: Key }));
    expect(left.Versions).toEqual(Versions);
  });

  // The emulator does not know s3:if-none-match: that no line is put without it is shown in unit/lib/hub-stack.test.ts.
  it('refuses a second line of the same name', async () => {
    const line = { Bucket: bucket, Key: keyOf('later', 2), Body: '{}', IfNoneMatch: '*' };
    await expect(account.s3.send(new PutObjectCommand(line))).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });
});
