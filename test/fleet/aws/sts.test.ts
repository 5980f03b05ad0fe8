import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SteppedClock, steppedClock } from '../clock.ts';
import { type AwsUser, awsClientConfig } from './aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';

const HUB = '111122223333';
const SPOKE = '444455556666';
const HUB_ROLE = `arn:aws:iam::${HUB}:role/certmarshal/sweep`;
const SPOKE_ROLE = `arn:aws:iam::${SPOKE}:role/certmarshal-spoke`;
/** Later than now. */
const START = Date.UTC(2100, 0, 1);

describe('the simulated STS', () => {
  let clock: SteppedClock;
  let aws: SimulatedAws;

  beforeEach(async () => {
    clock = steppedClock(START);
    aws = await startSimulatedAws({ clock });
    aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [HUB_ROLE], externalId: 'fleet-7' });
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  const client = (user: AwsUser) => new STSClient({ ...awsClientConfig(aws, user), maxAttempts: 1 });
  const hub = () => client({ account: HUB, role: HUB_ROLE });
  const request = { RoleArn: SPOKE_ROLE, RoleSessionName: 'sweep', ExternalId: 'fleet-7' };

  const assume = async () => {
    const { Credentials } = await hub().send(new AssumeRoleCommand(request));
    const { AccessKeyId = '', SecretAccessKey = '', SessionToken = '' } = Credentials ?? {};
    const credentials = { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken };
    const config = { endpoint: aws.url, region: 'eu-central-1', credentials, maxAttempts: 1 };
    return { expiration: Credentials?.Expiration, sts: new STSClient(config) };
  };
  const whoIs = (sts: STSClient) => sts.send(new GetCallerIdentityCommand({}));

  it('knows an account by its id', async () => {
    expect(await whoIs(client({ account: HUB }))).toMatchObject({
      Account: HUB,
      Arn: `arn:aws:iam::${HUB}:user/administrator`,
    });
  });

  it('knows a role by its keys, without the path of the role', async () => {
    const { Arn } = await whoIs(hub());
    expect(Arn).toBe(`arn:aws:sts::${HUB}:assumed-role/sweep/runtime`);
  });

  it('lets a trusted role assume another for an hour', async () => {
    const { sts, expiration } = await assume();
    expect(expiration).toEqual(new Date(START + 3_600_000));
    expect(await whoIs(sts)).toMatchObject({
      Account: SPOKE,
      Arn: `arn:aws:sts::${SPOKE}:assumed-role/certmarshal-spoke/sweep`,
    });
  });

  it('says of no session that it expires early by the clock of the machine', async () => {
    await using late = await startSimulatedAws({ clock: steppedClock(Date.now() - 3_600_000) });
    late.identity.putRole({ arn: SPOKE_ROLE, trusts: [HUB] });
    const sts = new STSClient({ ...awsClientConfig(late, { account: HUB }), maxAttempts: 1 });
    const { Credentials } = await sts.send(new AssumeRoleCommand(request));
    expect(Number(Credentials?.Expiration) - Date.now()).toBeGreaterThan(3_500_000);
  });

  it.each([
    ['without its ExternalId', {}, { ExternalId: undefined }],
    ['with another ExternalId', {}, { ExternalId: 'fleet-8' }],
    ['that does not exist', {}, { RoleArn: `${SPOKE_ROLE}-2` }],
    ['that does not trust the caller', { role: `${HUB_ROLE}-2` }, {}],
  ])('refuses a role %s', async (_, user, change) => {
    const asked = client({ account: HUB, role: HUB_ROLE, ...user }).send(
      new AssumeRoleCommand({ ...request, ...change }),
    );
    await expect(asked).rejects.toMatchObject({ name: 'AccessDenied', $metadata: { httpStatusCode: 403 } });
  });

  it('lets everybody of a trusted account in', async () => {
    aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [HUB] });
    await expect(client({ account: HUB }).send(new AssumeRoleCommand(request))).resolves.toBeDefined();
    await expect(client({ account: '777788889999' }).send(new AssumeRoleCommand(request))).rejects.toThrow(SPOKE_ROLE);
  });

  it('keeps the tags of a session, and needs sts:TagSession for them', async () => {
    const tagged = { ...request, Tags: [{ Key: 'purpose', Value: 'sweep' }] };
    await hub().send(new AssumeRoleCommand(tagged));
    expect(aws.identity.sessions.at(-1)).toMatchObject({ role: SPOKE_ROLE, tags: { purpose: 'sweep' } });
    aws.deny('sts:TagSession', { role: HUB_ROLE });
    await expect(hub().send(new AssumeRoleCommand(tagged))).rejects.toMatchObject({ name: 'AccessDenied' });
    await expect(hub().send(new AssumeRoleCommand(request))).resolves.toBeDefined();
  });

  it.each([
    ['too long for a role that assumes a role', { DurationSeconds: 3601 }],
    ['too short', { DurationSeconds: 899 }],
    ['of a name that is none', { RoleSessionName: 'a b' }],
  ])('refuses a session %s', async (_, change) => {
    await expect(hub().send(new AssumeRoleCommand({ ...request, ...change }))).rejects.toMatchObject({
      name: 'ValidationError',
    });
  });

  it('ends a session with its time', async () => {
    const { sts } = await assume();
    await clock.advance(3_599_999);
    await expect(whoIs(sts)).resolves.toBeDefined();
    await clock.advance(1);
    await expect(whoIs(sts)).rejects.toMatchObject({ name: 'ExpiredToken' });
  });

  it('ends sessions when it is told to, and only those so far', async () => {
    const { sts } = await assume();
    aws.identity.expireSessions(SPOKE_ROLE);
    await expect(whoIs(sts)).rejects.toMatchObject({ name: 'ExpiredToken' });
    await expect(whoIs((await assume()).sts)).resolves.toBeDefined();
  });

  it('knows nothing of a role that was deleted', async () => {
    const { sts } = await assume();
    aws.identity.removeRole(SPOKE_ROLE);
    await expect(whoIs(sts)).rejects.toMatchObject({ name: 'InvalidClientTokenId' });
    await expect(assume()).rejects.toMatchObject({ name: 'AccessDenied' });
  });
});
