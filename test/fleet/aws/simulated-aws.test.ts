import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient, ListClustersCommand } from '@aws-sdk/client-eks';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { steppedClock } from '../clock.ts';
import { awsClientConfig, awsEnvironment } from './aws-environment.ts';
import { AwsFault } from './aws-fault.ts';
import type { SimulatedKeys } from './identity.ts';
import type { ServiceName } from './service.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };
const ROLE = `arn:aws:iam::${FRANKFURT.account}:role/sweep`;

let aws: SimulatedAws;
beforeEach(async () => {
  aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 0, 1)) });
  aws.s3.createBucket(FRANKFURT, 'fleet');
  aws.s3.write('fleet', 'index.json', '{}');
  aws.secretsManager.putSecret(FRANKFURT, 'berlin', 'one');
  aws.identity.putRole({ arn: ROLE, trusts: [FRANKFURT.account] });
});
afterEach(() => aws[Symbol.asyncDispose]());

type Config = ReturnType<typeof awsClientConfig> & { maxAttempts?: number };

/** One call to each service. */
const CALLS: Readonly<Record<ServiceName, { action: string; call: (config: Config) => Promise<unknown> }>> = {
  ec2: { action: 'DescribeInstances', call: (c) => new EC2Client(c).send(new DescribeInstancesCommand({})) },
  eks: { action: 'ListClusters', call: (c) => new EKSClient(c).send(new ListClustersCommand({})) },
  events: {
    action: 'PutEvents',
    call: (c) =>
      new EventBridgeClient(c).send(
        new PutEventsCommand({ Entries: [{ Source: 'test', DetailType: 'test', Detail: '{}' }] }),
      ),
  },
  lambda: { action: 'GetAccountSettings', call: (c) => new LambdaClient(c).send(new GetAccountSettingsCommand({})) },
  s3: {
    action: 'GetObject',
    call: (c) => new S3Client(c).send(new GetObjectCommand({ Bucket: 'fleet', Key: 'index.json' })),
  },
  secretsmanager: {
    action: 'GetSecretValue',
    call: (c) => new SecretsManagerClient(c).send(new GetSecretValueCommand({ SecretId: 'berlin' })),
  },
  sns: {
    action: 'Publish',
    call: (c) =>
      new SNSClient(c).send(
        new PublishCommand({ TopicArn: aws.sns.createTopic(FRANKFURT, 'alarms'), Subject: 'x', Message: 'x' }),
      ),
  },
  sts: {
    action: 'AssumeRole',
    call: (c) => new STSClient(c).send(new AssumeRoleCommand({ RoleArn: ROLE, RoleSessionName: 'test' })),
  },
};

const SERVICES = Object.keys(CALLS) as ServiceName[];

/** Calls a service once, as the administrator of the account or with other keys. */
const call = (service: ServiceName, credentials?: SimulatedKeys) =>
  CALLS[service].call({ ...awsClientConfig(aws, FRANKFURT), ...(credentials && { credentials }), maxAttempts: 1 });

const refusal = (name: string, httpStatusCode: number) => ({ name, $metadata: { httpStatusCode } });

describe('the simulated AWS', () => {
  it.each(SERVICES)('answers %s and keeps the call', async (service) => {
    await call(service);
    expect(aws.calls).toEqual([{ service, action: CALLS[service].action, ...FRANKFURT, status: 200 }]);
  });

  it.each<[ServiceName, string, number]>([
    ['ec2', 'UnauthorizedOperation', 403],
    ['eks', 'AccessDeniedException', 403],
    ['s3', 'AccessDenied', 403],
    ['secretsmanager', 'AccessDeniedException', 400],
    ['events', 'AccessDeniedException', 400],
    ['sns', 'AuthorizationErrorException', 403],
    ['sts', 'AccessDenied', 403],
  ])('denies %s in its words: %s', async (service, name, status) => {
    const end = aws.deny(`${service}:${CALLS[service].action}`);
    await expect(call(service)).rejects.toMatchObject(refusal(name, status));
    // The SDK gives the error of SNS a name that its code does not have.
    const code = name.replace('AuthorizationErrorException', 'AuthorizationError');
    expect(aws.calls).toMatchObject([{ service, status, code }]);
    end();
    await expect(call(service)).resolves.toBeDefined();
  });

  it('denies a role, an account, or everybody', async () => {
    const keys = aws.identity.keysOf({ account: FRANKFURT.account, role: ROLE });
    const end = aws.deny('eks:ListClusters', { role: ROLE });
    await expect(call('eks', keys)).rejects.toMatchObject({ name: 'AccessDeniedException' });
    await expect(call('eks')).resolves.toBeDefined();
    end();
    aws.deny('eks:ListClusters', { account: FRANKFURT.account });
    await expect(call('eks', keys)).rejects.toMatchObject({ name: 'AccessDeniedException' });
    await expect(call('eks')).rejects.toMatchObject({ name: 'AccessDeniedException' });
    await expect(call('eks', { accessKeyId: '444455556666', secretAccessKey: 'simulated' })).resolves.toBeDefined();
  });

  it.each<[ServiceName, string, number]>([
    ['ec2', 'AuthFailure', 401],
    ['eks', 'UnrecognizedClientException', 403],
    ['s3', 'InvalidAccessKeyId', 403],
    ['secretsmanager', 'UnrecognizedClientException', 400],
    ['sts', 'InvalidClientTokenId', 403],
  ])('does not know the keys of %s in a Region that is disabled: %s', async (service, name, status) => {
    const end = aws.disableRegion(FRANKFURT);
    aws.disableRegion({ ...FRANKFURT, region: 'eu-west-1' });
    await expect(call(service)).rejects.toMatchObject(refusal(name, status));
    end();
    await expect(call(service)).resolves.toBeDefined();
    const unknown = { accessKeyId: 'AKIAUNKNOWN', secretAccessKey: 'simulated' };
    await expect(call(service, unknown)).rejects.toMatchObject(refusal(name, status));
  });

  it.each<[ServiceName, string]>([
    ['ec2', 'RequestExpired'],
    ['eks', 'ExpiredTokenException'],
    ['s3', 'ExpiredToken'],
    ['secretsmanager', 'ExpiredTokenException'],
    ['sts', 'ExpiredToken'],
  ])('refuses %s with keys that expired: %s', async (service, name) => {
    const keys = aws.identity.keysOf({ account: FRANKFURT.account, role: ROLE });
    await expect(call(service, keys)).resolves.toBeDefined();
    aws.identity.expireSessions(ROLE);
    await expect(call(service, keys)).rejects.toMatchObject({ name });
  });

  it.each<[ServiceName, string, number]>([
    ['ec2', 'RequestLimitExceeded', 503],
    ['eks', 'ThrottlingException', 429],
    ['s3', 'SlowDown', 503],
    ['secretsmanager', 'ThrottlingException', 400],
    ['sts', 'Throttling', 400],
  ])('throttles %s: %s', async (service, name, status) => {
    const end = aws.throttle(service, { rate: 0, burst: 1 });
    await call(service);
    await expect(call(service)).rejects.toMatchObject(refusal(name, status));
    end();
    await expect(call(service)).resolves.toBeDefined();
  });

  it('fails as often as it is told to', async () => {
    aws.fail('eks:ListClusters', new AwsFault(503, 'ServiceUnavailableException', 'Not now'), 2);
    await expect(call('eks')).rejects.toMatchObject(refusal('ServiceUnavailableException', 503));
    await expect(call('eks')).rejects.toMatchObject(refusal('ServiceUnavailableException', 503));
    await expect(call('eks')).resolves.toBeDefined();
  });

  it.each<[ServiceName, number, string]>([
    ['ec2', 6, 'RequestExpired'],
    ['eks', 6, 'InvalidSignatureException'],
    ['s3', 16, 'RequestTimeTooSkewed'],
    ['secretsmanager', 6, 'InvalidSignatureException'],
    ['sts', 6, 'SignatureDoesNotMatch'],
  ])('refuses %s to a clock that is %i minutes off, and tells it the time', async (service, minutes, name) => {
    aws.skewMs = (minutes - 2) * 60_000;
    await expect(call(service)).resolves.toBeDefined();
    aws.skewMs = minutes * 60_000;
    await expect(call(service)).rejects.toMatchObject({ name });
    await CALLS[service].call({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 2 });
    expect(aws.calls.map(({ code }) => code)).toEqual([undefined, name, name, undefined]);
  });

  it('refuses a request that nobody signed', async () => {
    expect((await fetch(aws.url)).status).toBe(403);
  });

  it('is reached by a process through its environment', async () => {
    aws.eks.putCluster(FRANKFURT, { name: 'berlin' });
    const script = `
      const { EKSClient, ListClustersCommand } = require('@aws-sdk/client-eks');
      new EKSClient({}).send(new ListClustersCommand({})).then(({ clusters }) => console.log(clusters.join()));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], {
      env: awsEnvironment(aws, { account: FRANKFURT.account, role: ROLE }),
    });
    expect(stdout.trim()).toBe('berlin');
    expect(aws.calls).toMatchObject([{ ...FRANKFURT, role: ROLE }]);
  });

  it('is gone afterwards', async () => {
    await aws[Symbol.asyncDispose]();
    await expect(fetch(aws.url)).rejects.toThrow('fetch failed');
  });
});
