import {
  CreateSecretCommand,
  type CreateSecretCommandInput,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { steppedClock } from '../clock.ts';
import { awsClientConfig } from './aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from './simulated-aws.ts';

const FRANKFURT = { account: '111122223333', region: 'eu-central-1' };

describe('the simulated Secrets Manager', () => {
  let aws: SimulatedAws;
  let client: SecretsManagerClient;

  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: steppedClock(Date.UTC(2026, 0, 1)) });
    client = new SecretsManagerClient({ ...awsClientConfig(aws, FRANKFURT), maxAttempts: 1 });
  });
  afterEach(() => aws[Symbol.asyncDispose]());

  const get = (SecretId: string, VersionStage?: string) =>
    client.send(new GetSecretValueCommand({ SecretId, VersionStage }));
  const create = (input: Partial<CreateSecretCommandInput>) =>
    client.send(new CreateSecretCommand({ Name: 'kubeconfig/berlin', SecretString: 'one', ...input }));

  it('finds a secret by its name, its ARN, and its ARN without the end', async () => {
    const arn = aws.secretsManager.putSecret(FRANKFURT, 'kubeconfig/berlin', 'one');
    expect(arn).toMatch(/^arn:aws:secretsmanager:eu-central-1:111122223333:secret:kubeconfig\/berlin-\w{6}$/);
    for (const id of [arn, arn.slice(0, -7), 'kubeconfig/berlin'])
      expect(await get(id)).toMatchObject({ ARN: arn, SecretString: 'one', VersionStages: ['AWSCURRENT'] });
  });

  it('keeps bytes', async () => {
    const { SecretBinary } = await get(aws.secretsManager.putSecret(FRANKFURT, 'bytes', new Uint8Array([0, 255])));
    expect(SecretBinary).toEqual(new Uint8Array([0, 255]));
  });

  it('keeps the current and the previous value', async () => {
    const { ARN = '' } = await create({});
    await client.send(new PutSecretValueCommand({ SecretId: ARN, SecretString: 'two' }));
    expect(await get(ARN)).toMatchObject({ SecretString: 'two' });
    expect(await get(ARN, 'AWSPREVIOUS')).toMatchObject({ SecretString: 'one' });
  });

  it('takes the same call twice, by its token', async () => {
    const token = { ClientRequestToken: 'f47ac10b-58cc-4372-a567-0e02b2c3d479' };
    const first = await create(token);
    expect(await create(token)).toMatchObject({ ARN: first.ARN, VersionId: first.VersionId });
    await expect(create({ ...token, SecretString: 'two' })).rejects.toMatchObject({ name: 'ResourceExistsException' });
  });

  it('does not create what is there', async () => {
    await create({});
    await expect(create({})).rejects.toMatchObject({ name: 'ResourceExistsException' });
  });

  it('reads nothing that is marked for deletion', async () => {
    const arn = aws.secretsManager.putSecret(FRANKFURT, 'old', 'one');
    aws.secretsManager.markForDeletion(arn);
    await expect(get(arn)).rejects.toMatchObject({ name: 'InvalidRequestException' });
  });

  it.each([
    ['that is not there', 'other', 'ResourceNotFoundException'],
    ['elsewhere', 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:dublin-abcdef', 'ResourceNotFoundException'],
    ['of another account', 'arn:aws:secretsmanager:eu-central-1:444455556666:secret:x-abcdef', 'AccessDeniedException'],
  ])('refuses a secret %s', async (_, id, name) => {
    aws.secretsManager.putSecret({ ...FRANKFURT, region: 'eu-west-1' }, 'dublin', 'one');
    await expect(get(id)).rejects.toMatchObject({ name });
  });

  it('has no stage of another name', async () => {
    aws.secretsManager.putSecret(FRANKFURT, 'berlin', 'one');
    await expect(get('berlin', 'AWSPENDING')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    await expect(get('berlin', 'AWSPREVIOUS')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });
});
