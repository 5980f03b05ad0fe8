import { Agent } from 'node:https';
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ACCOUNT, type MiniStack, REGION } from './ministack.ts';

/** The administrator's clients of an emulated account. */
export interface Clients {
  readonly ec2: EC2Client;
  readonly eks: EKSClient;
  readonly s3: S3Client;
  readonly secrets: SecretsManagerClient;
  close(): void;
}

export function clientsOf({ endpoint, caPem: ca }: Pick<MiniStack, 'endpoint' | 'caPem'>): Clients {
  const config = {
    endpoint,
    region: REGION,
    // Twelve digits are the root user of that account.
    credentials: { accessKeyId: ACCOUNT, secretAccessKey: 'test' },
    requestHandler: { httpsAgent: new Agent({ ca, keepAlive: true }) },
  };
  const ec2 = new EC2Client(config);
  const eks = new EKSClient(config);
  const s3 = new S3Client({ ...config, forcePathStyle: true });
  const secrets = new SecretsManagerClient(config);
  return {
    ec2,
    eks,
    s3,
    secrets,
    close() {
      for (const client of [ec2, eks, s3, secrets]) client.destroy();
    },
  };
}
