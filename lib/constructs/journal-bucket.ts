import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Bucket, ObjectLockRetention } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { FleetJournal } from '../../lambdas/config/fleet.ts';
import { HEAD_PREFIX, JOURNAL_PREFIX } from '../../lambdas/journal/keys.ts';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import { privateBucket } from './private-bucket.ts';

/** How long the earlier versions of a head stay, which say when a chain was cut. */
const HEAD_HISTORY = Duration.days(35);

export interface JournalBucketProps {
  readonly journal: FleetJournal;
  readonly key?: IKey | undefined;
}

/**
 * Holds the journal: every decision that wrote or refused, append-only. Versioned, so that whatever is changed or deleted is still there; with
 * Object Lock nobody can end that before its time. Lines never expire. Kept when the stack is destroyed.
 *
 * Lines are written under the condition that nothing is there (`If-None-Match`), and by nobody otherwise: no copy and no multipart upload either, which cannot say so.
 * Source: Amazon S3 User Guide, "Enforce conditional writes on Amazon S3 buckets".
 */
export class JournalBucket extends Bucket {
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, { journal: { objectLock }, key }: JournalBucketProps) {
    super(scope, id, {
      ...privateBucket(key),
      versioned: true,
      ...(objectLock === undefined
        ? {}
        : { objectLockEnabled: true, objectLockDefaultRetention: retention(objectLock) }),
      lifecycleRules: [
        { prefix: HEAD_PREFIX, noncurrentVersionExpiration: HEAD_HISTORY },
        { abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    this.#key = key;
    this.addToResourcePolicy(
      new PolicyStatement({
        sid: 'OnlyAppend',
        effect: Effect.DENY,
        principals: [new AnyPrincipal()],
        actions: ['s3:PutObject'],
        resources: [this.arnForObjects(`${JOURNAL_PREFIX}*`)],
        conditions: { Null: { 's3:if-none-match': 'true' } },
      }),
    );
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Access logs would take another bucket to record what one function does; CloudTrail data events record it where that is wanted.',
    });
  }

  /**
   * Lets a role append. It may not delete, nor read or end a retention. The list
   * permission is for the whole bucket: with a condition on the prefix S3 would refuse an object that is absent, where it has to say so.
   */
  allow(role: IRole): void {
    const prefixes = [JOURNAL_PREFIX, HEAD_PREFIX];
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:ListBucket'], resources: [this.bucketArn] }));
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['s3:GetObject', 's3:PutObject'],
        resources: prefixes.map((prefix) => this.arnForObjects(`${prefix}*`)),
      }),
    );
    this.#key?.grantEncryptDecrypt(role);
    const arn = this.stack.resolve(this.bucketArn)['Fn::GetAtt'].join('.');
    acknowledgeWildcards(
      role,
      'One chain for each cluster; which clusters there are is what the discovery finds out.',
      prefixes.map((prefix) => `Resource::<${arn}>/${prefix}*`),
    );
  }
}

function retention({ mode, days }: NonNullable<FleetJournal['objectLock']>): ObjectLockRetention {
  const duration = Duration.days(days);
  return mode === 'compliance' ? ObjectLockRetention.compliance(duration) : ObjectLockRetention.governance(duration);
}
