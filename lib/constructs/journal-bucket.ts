import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { FleetJournal } from '../../lambdas/config/fleet.ts';
import { JOURNAL_PREFIX } from '../../lambdas/journal/s3-journal.ts';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import { privateBucket } from './private-bucket.ts';

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
      lifecycleRules: [{ abortIncompleteMultipartUploadAfter: Duration.days(1) }],
    });
    this.#key = key;
    if (objectLock !== 'off') this.#lock(objectLock);
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
   * CloudFormation replaces a bucket whose property ObjectLockEnabled changes, which CDK sets for a lock; the field of
   * the same name in its configuration changes the bucket in place. Source: AWS CloudFormation Template Reference,
   * AWS::S3::Bucket.
   */
  #lock({ mode, days, atCreation }: Exclude<FleetJournal['objectLock'], 'off'>): void {
    const bucket = this.node.defaultChild;
    if (!(bucket instanceof CfnBucket)) throw new Error('a bucket without its resource');
    bucket.objectLockEnabled = atCreation;
    bucket.objectLockConfiguration = {
      objectLockEnabled: 'Enabled',
      rule: { defaultRetention: { mode: mode.toUpperCase(), days } },
    };
  }

  /** Lets a role append, and nothing else: it may not list, read or delete, nor read or end a retention. */
  allow(role: IRole): void {
    const lines = this.arnForObjects(`${JOURNAL_PREFIX}*`);
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:PutObject'], resources: [lines] }));
    this.#key?.grantEncrypt(role);
    const arn = this.stack.resolve(this.bucketArn)['Fn::GetAtt'].join('.');
    acknowledgeWildcards(role, 'Its objects have the names of clusters, which the discovery finds out, and times.', [
      `Resource::<${arn}>/${JOURNAL_PREFIX}*`,
    ]);
  }
}
