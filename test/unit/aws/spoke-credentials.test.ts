import { describe, expect, it } from 'vitest';
import { createCredentials } from '../../../lambdas/aws/spoke-credentials.ts';
import type { AwsScope } from '../../../lambdas/contracts/target.ts';
import { awsFailure } from './failure.ts';
import { type HttpAnswer, type HttpCall, queryRefusal, startHttpService } from './http-service.ts';

const ROLE = { arn: 'arn:aws:iam::111122223333:role/certmarshal-read', externalId: 'ours' };
const SCOPE: AwsScope = { account: '111122223333', region: 'eu-central-1', role: ROLE };
const HOUR = 3_600_000;

/** An STS that numbers its sessions. */
function sessions(lifetime = HOUR): () => HttpAnswer {
  let made = 0;
  return () => {
    made += 1;
    const expiration = new Date(Date.now() + lifetime).toISOString();
    const credentials = `<AccessKeyId>ASIA${made}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>${expiration}</Expiration>`;
    return {
      headers: { 'content-type': 'text/xml' },
      body: `<AssumeRoleResponse><AssumeRoleResult><Credentials>${credentials}</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
    };
  };
}

async function service(answer: (call: HttpCall) => HttpAnswer | undefined = sessions()) {
  const sts = await startHttpService(answer);
  const credentialsOf = createCredentials({ sessionName: 'certmarshal', sts: { ...sts.config, maxAttempts: 1 } });
  return { sts, credentialsOf, [Symbol.asyncDispose]: () => sts[Symbol.asyncDispose]() };
}

describe('createCredentials', () => {
  it('gives its own without a role, and asks nobody', async () => {
    await using run = await service();
    const own = await run.credentialsOf({ account: '999988887777', region: 'eu-west-1' })();
    expect(own).toMatchObject({ accessKeyId: '123456789012' });
    expect(run.sts.calls).toEqual([]);
  });

  it('assumes the role at the STS of the Region, with ExternalId, session name and tags', async () => {
    await using run = await service();
    const role = { ...ROLE, sessionTags: { team: 'platform' } };
    const credentials = await run.credentialsOf({ ...SCOPE, role })();
    expect(credentials).toMatchObject({ accessKeyId: 'ASIA1', secretAccessKey: 'secret', sessionToken: 'token' });
    expect(credentials.expiration).toBeInstanceOf(Date);
    expect(run.sts.calls).toHaveLength(1);
    expect(run.sts.calls[0]).toMatchObject({ region: 'eu-central-1' });
    expect(Object.fromEntries(run.sts.calls[0]?.form ?? [])).toEqual({
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: ROLE.arn,
      RoleSessionName: 'certmarshal',
      DurationSeconds: '900',
      ExternalId: 'ours',
      'Tags.member.1.Key': 'team',
      'Tags.member.1.Value': 'platform',
    });
  });

  it('flies once for all who ask at the same time, and keeps the session', async () => {
    await using run = await service();
    const asked = await Promise.all(Array.from({ length: 20 }, () => run.credentialsOf(SCOPE)()));
    asked.push(await run.credentialsOf(SCOPE)());
    expect(new Set(asked.map(({ accessKeyId }) => accessKeyId))).toEqual(new Set(['ASIA1']));
    expect(run.sts.calls).toHaveLength(1);
  });

  it.each([
    ['another ExternalId', { ...SCOPE, role: { ...ROLE, externalId: 'other' } }],
    ['other tags', { ...SCOPE, role: { ...ROLE, sessionTags: { a: 'b' } } }],
    ['another Region', { ...SCOPE, region: 'eu-west-1' }],
    ['another role', { ...SCOPE, role: { ...ROLE, arn: `${ROLE.arn}2` } }],
  ])('shares no session with %s', async (_, other) => {
    await using run = await service();
    await run.credentialsOf(SCOPE)();
    expect(await run.credentialsOf(other)()).toMatchObject({ accessKeyId: 'ASIA2' });
  });

  it.each([
    ['renews a session that has five minutes left', 5 * 60_000, 2],
    ['keeps one that has six', 6 * 60_000, 1],
  ])('%s', async (_, lifetime, calls) => {
    await using run = await service(sessions(lifetime));
    await run.credentialsOf(SCOPE)();
    await run.credentialsOf(SCOPE)();
    expect(run.sts.calls).toHaveLength(calls);
  });

  it.each([
    ['AccessDenied', 'denied', 'Deploy the spoke stack in account 111122223333'],
    ['ExpiredTokenException', 'expired', 'Renew'],
    [
      'RegionDisabledException',
      'region',
      'Enable eu-central-1 in account 111122223333 and, so that STS accepts its credentials there, in the account of the hub',
    ],
    ['InvalidClientTokenId', 'region', 'Enable eu-central-1'],
  ])('says what to do about %s', async (code, kind, remedy) => {
    await using run = await service(() => queryRefusal(code));
    const error = await awsFailure(run.credentialsOf(SCOPE)());
    expect(error).toMatchObject({ kind, object: `sts:AssumeRole of ${ROLE.arn} in eu-central-1` });
    expect(error.remedy).toContain(remedy);
  });

  it('names the ExternalId and the tags only where they matter', async () => {
    await using run = await service(() => queryRefusal('AccessDenied'));
    const plain = await awsFailure(run.credentialsOf({ ...SCOPE, role: { arn: ROLE.arn } })());
    expect(plain.remedy).toMatch(
      /name the calling role in the condition aws:PrincipalArn and require no ExternalId\.$/,
    );
    const full = await awsFailure(run.credentialsOf({ ...SCOPE, role: { ...ROLE, sessionTags: { a: 'b' } } })());
    expect(full.remedy).toMatch(/require the ExternalId of fleet\.yaml and allow sts:TagSession\.$/);
  });

  it('forgets a failure, which all who wait share', async () => {
    let refuse = true;
    const session = sessions();
    await using run = await service(() => (refuse ? queryRefusal('AccessDenied') : session()));
    const failures = await Promise.all([
      awsFailure(run.credentialsOf(SCOPE)()),
      awsFailure(run.credentialsOf(SCOPE)()),
    ]);
    expect(failures[0]).toBe(failures[1]);
    expect(run.sts.calls).toHaveLength(1);
    refuse = false;
    expect(await run.credentialsOf(SCOPE)()).toMatchObject({ accessKeyId: 'ASIA1' });
  });

  it('takes no half answer', async () => {
    const body = '<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>';
    await using run = await service(() => ({ body, headers: { 'content-type': 'text/xml' } }));
    expect(await awsFailure(run.credentialsOf(SCOPE)())).toMatchObject({ kind: 'invalid' });
  });
});
