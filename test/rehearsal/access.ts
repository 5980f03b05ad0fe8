import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { AwsCredentialIdentity } from '@smithy/types';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { type Account, assumeRole, openAccount } from './account.ts';
import type { DeployedStack } from './deployment.ts';
import { ACCOUNT, type MiniStack } from './ministack.ts';
import { machineOf } from './watch.ts';

export interface AccessOptions {
  readonly ministack: MiniStack;
  readonly hub: Account;
  readonly stack: DeployedStack;
  /** Of the state. */
  readonly bucket: string;
}

/** By function: objects of the state bucket that it may write, and functions that it may start. */
const MAY: Readonly<Record<string, { readonly write: readonly string[]; readonly start: readonly string[] }>> = {
  plan: { write: ['orders'], start: [] },
  'sweep-default': { write: ['outcomes'], start: [] },
  report: { write: [STATE_KEYS.registry, STATE_KEYS.index, STATE_KEYS.page], start: [] },
  notify: { write: [], start: [] },
  webhook: { write: [], start: ['sweep-default'] },
};

/** Each object of the state bucket is there, and has one writer; nobody but the webhook starts a function, and that only a sweep. */
export async function expectAccess({ ministack, hub, stack, bucket }: AccessOptions): Promise<void> {
  const { Contents = [] } = await hub.s3.send(new ListObjectsV2Command({ Bucket: bucket }));
  const keys = new Map(Contents.map(({ Key = '' }) => [Key.split('/', 1)[0] ?? '', Key]));
  const kinds = ['orders', 'outcomes', STATE_KEYS.registry, STATE_KEYS.index, STATE_KEYS.page];
  assert.deepEqual([...keys.keys()].toSorted(), kinds.toSorted(), 'what the state bucket has');

  const functions = await functionsOf(stack);
  const names = Object.keys(MAY);
  assert.deepEqual([...functions.keys()].toSorted(), names.toSorted(), 'the functions');
  const may: Record<string, object> = {};
  for (const name of names) {
    const { arn, roleArn } = functions.get(name) ?? assert.fail(`no function ${name}`);
    const account = openAccount(ministack, ACCOUNT, sessionOf(arn, roleArn));
    const write = await only(kinds, async (kind) => mayWrite(account.s3, bucket, keys.get(kind) ?? ''));
    const start = await only(names, async (other) => mayStart(account, functions.get(other)?.arn ?? ''));
    may[name] = { write, start };
    const machine = { stateMachineArn: machineOf(stack), input: '{}' };
    await assert.rejects(account.calls.json('states', 'AWSStepFunctions.StartExecution', machine), DENIED, name);
    account.close();
  }
  assert.deepEqual(may, MAY);
  const written = await withAdmin(hub, ministack, async ({ s3 }) =>
    only(kinds, async (kind) => mayWrite(s3, bucket, keys.get(kind) ?? '')),
  );
  assert.deepEqual(written, [], 'what an administrator may write');
}

const DENIED = /\b403\b/;

async function only(all: readonly string[], is: (one: string) => Promise<boolean>): Promise<readonly string[]> {
  const those: string[] = [];
  for (const one of all) if (await is(one)) those.push(one);
  return those;
}

/** Nothing is written: the object is there. */
async function mayWrite(s3: S3Client, Bucket: string, Key: string): Promise<boolean> {
  const refusal: unknown = await s3.send(new PutObjectCommand({ Bucket, Key, Body: '{}', IfNoneMatch: '*' })).then(
    () => assert.fail(`${Key} was replaced`),
    (error: unknown) => error,
  );
  const name = refusal instanceof Error ? refusal.name : '';
  assert.match(name, /^(?:AccessDenied|PreconditionFailed)$/, Key);
  return name === 'PreconditionFailed';
}

/** A sweep does nothing for such an event. */
async function mayStart({ calls }: Account, arn: string): Promise<boolean> {
  try {
    await calls.post('lambda', `/2015-03-31/functions/${arn.split(':').at(-1)}/invocations`, {});
    return true;
  } catch (error) {
    assert.match(String(error), DENIED);
    return false;
  }
}

/** A role that may do all that no policy of a bucket denies. The emulator asks none for the root user. */
async function withAdmin<T>(hub: Account, ministack: MiniStack, use: (admin: Account) => Promise<T>): Promise<T> {
  const iam = async (action: string, more: Readonly<Record<string, string>> = {}) =>
    hub.calls.query('iam', '2010-05-08', action, { RoleName: 'rehearsal-admin', ...more });
  const document = (statement: object) =>
    JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', ...statement }] });
  const trust = document({ Principal: { AWS: `arn:aws:iam::${ACCOUNT}:root` }, Action: 'sts:AssumeRole' });
  const policy = { PolicyName: 'all', PolicyDocument: document({ Action: '*', Resource: '*' }) };
  await iam('CreateRole', { AssumeRolePolicyDocument: trust });
  await iam('PutRolePolicy', policy);
  const admin = openAccount(ministack, ACCOUNT, await assumeRole(hub, `arn:aws:iam::${ACCOUNT}:role/rehearsal-admin`));
  try {
    return await use(admin);
  } finally {
    admin.close();
    await iam('DeleteRolePolicy', { PolicyName: policy.PolicyName });
    await iam('DeleteRole');
  }
}

/** By the part of its name that the app gives. */
async function functionsOf({ account: { calls }, name }: DeployedStack) {
  const { Functions }: { Functions: readonly { FunctionName: string; FunctionArn: string; Role: string }[] } =
    JSON.parse(await calls.get('lambda', '/2015-03-31/functions/'));
  return new Map(
    Functions.map(({ FunctionName, FunctionArn, Role }) => {
      const part = FunctionName.startsWith(`${name}-Notify`) ? 'notify' : FunctionName.slice(name.length + 1);
      return [part, { arn: FunctionArn, roleArn: Role }];
    }),
  );
}

/** The credentials that the emulator gives to a function; it keeps them from its first run on. */
function sessionOf(functionArn: string, roleArn: string): AwsCredentialIdentity {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const digest = sha256(`${functionArn}:${roleArn}`);
  return {
    accessKeyId: `ASIA${digest.slice(0, 16).toUpperCase()}`,
    secretAccessKey: sha256(`secret:${digest}`),
    sessionToken: sha256(`token:${digest}`),
  };
}
