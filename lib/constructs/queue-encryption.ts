import type { IKey } from 'aws-cdk-lib/aws-kms';
import { QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';

/** Encrypts a queue by the given key, or by those of Amazon SQS. */
export function encryptedBy(key: IKey | undefined): QueueProps {
  return key === undefined
    ? { encryption: QueueEncryption.SQS_MANAGED }
    : // KMS is paid by call, and a queue that works every minute would make many.
      { encryption: QueueEncryption.KMS, encryptionMasterKey: key, dataKeyReuse: Duration.hours(1) };
}
