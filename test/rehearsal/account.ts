import { Agent } from 'node:https';
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { AwsCredentialIdentity } from '@smithy/types';
import { readSubscriptions, type Subscriptions } from '../../bin/doctor/subscriptions-check.ts';
import { type AwsCalls, awsCalls } from './aws-call.ts';
import { type MiniStack, REGION } from './ministack.ts';

/** An emulated account, as its root user sees it, or a function. */
export interface Account {
  /** Twelve digits; in the emulator they are the access key of the root user. */
  readonly id: string;
  readonly ec2: EC2Client;
  readonly eks: EKSClient;
  readonly s3: S3Client;
  readonly secrets: SecretsManagerClient;
  readonly calls: AwsCalls;
  /** As doctor counts them. */
  subscriptions(): Promise<Subscriptions | undefined>;
  /** Variables for a program that is to speak to this account, and to no other AWS. */
  readonly environment: Readonly<Record<string, string>>;
  close(): void;
}

export function openAccount(
  { endpoint, caPem, caFile }: MiniStack,
  id: string,
  credentials: AwsCredentialIdentity = { accessKeyId: id, secretAccessKey: 'test' },
): Account {
  const config = {
    endpoint,
    region: REGION,
    credentials,
    requestHandler: { httpsAgent: new Agent({ ca: caPem, keepAlive: true }) },
  };
  const ec2 = new EC2Client(config);
  const eks = new EKSClient(config);
  const s3 = new S3Client({ ...config, forcePathStyle: true });
  const secrets = new SecretsManagerClient(config);
  return {
    id,
    ec2,
    eks,
    s3,
    secrets,
    subscriptions: async () => readSubscriptions(AbortSignal.timeout(10_000), config),
    calls: awsCalls({ endpoint, caPem }, credentials),
    environment: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_CA_BUNDLE: caFile,
      NODE_EXTRA_CA_CERTS: caFile,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_REGION: REGION,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    close() {
      for (const client of [ec2, eks, s3, secrets]) client.destroy();
    },
  };
}

/** @returns the credentials of a new session */
export async function assumeRole({ calls }: Pick<Account, 'calls'>, role: string): Promise<AwsCredentialIdentity> {
  const parameters = { RoleArn: role, RoleSessionName: 'test' };
  const xml = await calls.query('sts', '2011-06-15', 'AssumeRole', parameters);
  const text = (element: string) => new RegExp(`<${element}>([^<]+)<`).exec(xml)?.[1] ?? '';
  return {
    accessKeyId: text('AccessKeyId'),
    secretAccessKey: text('SecretAccessKey'),
    sessionToken: text('SessionToken'),
  };
}
