import { S3Client } from '@aws-sdk/client-s3';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { callAws } from '../../../lambdas/aws/call.ts';
import { invalid } from '../../../lambdas/aws/classify.ts';
import { createJsonObjects } from '../../../lambdas/aws/json-objects.ts';
import { requireBucketName, requireRegion } from '../../aws-region.ts';
import type { AwsConfig } from '../../doctor/aws-calls.ts';
import type { RecoveryBucket } from './bucket.ts';

/**
 * The state bucket, with the AWS credentials and Region of the environment.
 *
 * @param config for tests. @default from the environment
 * @throws UsageError if it is not a valid bucket name, or without a Region
 */
export async function recoveryBucket(given: string, config: AwsConfig = {}): Promise<RecoveryBucket> {
  const name = requireBucketName(given, 100);
  const client = new S3Client(config);
  await requireRegion(client);
  const sts = new STSClient(config);
  const object = 'sts:GetCallerIdentity';
  return {
    name,
    objects: createJsonObjects({ client, bucket: name }),
    async caller(signal) {
      const { Arn } = await callAws({ object }, signal, (abortSignal) =>
        sts.send(new GetCallerIdentityCommand({}), { abortSignal }),
      );
      if (Arn === undefined) throw invalid(object, 'AWS answered without an ARN');
      return Arn;
    },
  };
}
