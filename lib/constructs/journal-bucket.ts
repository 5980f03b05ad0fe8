import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Bucket, ObjectLockRetention } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { FleetJournal } from '../../lambdas/config/fleet.ts';
import { HEAD_PREFIX, JOURNAL_PREFIX } from '../../lambdas/journal/keys.ts';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import { privateBucket } from './private-bucket.ts';

/** How long earlier versions of a head are kept, which show when a chain was cut. */
const HEAD_HISTORY = Duration.days(35);

export interface JournalBucketProps {
  readonly journal: FleetJournal;
  readonly key?: IKey | undefined;
}

/**
 * The journal: every decision, append-only. Versioned, so that changed or deleted objects still exist; with Object Lock
 * no one can shorten that. Lines never expire. Kept when the stack is destroyed.
 *
 * Lines can only be written on the condition that nothing exists (`If-None-Match`): copies and multipart uploads, which
 * cannot state it, are denied. Source: Amazon S3 User Guide, "Enforce conditional writes on Amazon S3 buckets".
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
   * Lets a role append. It may not delete, nor read or end a retention. The list permission covers the whole bucket:
   * with a condition on the prefix S3 would deny a missing object instead of reporting it as missing.
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
