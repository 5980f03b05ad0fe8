import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { SNAPSHOT_PREFIX } from '../../lambdas/audit/snapshots.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import { onlyBy } from './only-by.ts';
import { privateBucket } from './private-bucket.ts';

/** Longer than a month, so that observations before the last monthly rotation still exist. */
const HISTORY = Duration.days(HUB_SIZES.snapshots.keptDays);

/**
 * One snapshot for each cluster: what the newest audit saw, and remembers of what it could not read. Versioned: earlier
 * versions are its history, and a lost or damaged snapshot can be restored. Kept when the stack is destroyed.
 */
export class AuditHistory extends Bucket {
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, { key }: { readonly key?: IKey | undefined }) {
    super(scope, id, {
      ...privateBucket(key),
      versioned: true,
      lifecycleRules: [
        {
          noncurrentVersionExpiration: HISTORY,
          expiredObjectDeleteMarker: true,
          abortIncompleteMultipartUploadAfter: Duration.days(1),
        },
      ],
    });
    this.#key = key;
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Access logs would take another bucket to record what one function does every few minutes; CloudTrail data events record it where that is wanted.',
    });
  }

  /**
   * Lets one role read and replace snapshots, and nothing else of the bucket. No other may write them, whatever its
   * policies: a forged verdict would hide a finding. With the list permission S3 reports a
   * missing object as missing.
   */
  allow(role: IRole): void {
    const snapshots = this.arnForObjects(`${SNAPSHOT_PREFIX}*`);
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:ListBucket'], resources: [this.bucketArn] }));
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['s3:GetObject', 's3:PutObject'], resources: [snapshots] }),
    );
    this.addToResourcePolicy(onlyBy([role], { actions: ['s3:PutObject'], resources: [snapshots] }));
    this.#key?.grantEncryptDecrypt(role);
    acknowledgeWildcards(
      role,
      'One snapshot for each cluster; which clusters there are is what the discovery finds out.',
      [`Resource::<${this.stack.resolve(this.bucketArn)['Fn::GetAtt'].join('.')}>/${SNAPSHOT_PREFIX}*`],
    );
  }
}
