import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { acknowledgeWildcards } from '../acknowledge-wildcards.ts';
import { onlyBy } from './only-by.ts';
import { privateBucket } from './private-bucket.ts';

/** Orders and outcomes of a tick expire after this time. */
const TICK_OBJECTS = Duration.days(1);

/** Keys, or prefixes that end in `*`. */
export interface StateGrant {
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** ARN of the only function of the role that may write. @default all functions of the role */
  readonly writer?: string;
}

/**
 * State that outlives an invocation: orders, written by plan; their outcomes, by sweeps; registry, index and report page,
 * by report; and the ledger of rollouts, by sweeps. Kept when the stack is destroyed.
 * Not versioned: objects are written every minute, and lost ones are rebuilt from the clusters, or were short-lived.
 * Rollouts in progress are on the clusters themselves; only the times of earlier ones would be lost.
 */
export class FleetState extends Bucket {
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, { key }: { readonly key?: IKey | undefined }) {
    super(scope, id, {
      ...privateBucket(key),
      versioned: false,
      lifecycleRules: ['orders/', 'outcomes/'].map((prefix) => ({ prefix, expiration: TICK_OBJECTS })),
    });
    this.#key = key;
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Access logs would take a second bucket to record what four functions do each minute; CloudTrail data events record it where that is wanted.',
    });
  }

  /**
   * Only the granted role may write, whatever policies others have: each object has one writer. With the list permission
   * S3 reports a missing object as missing.
   *
   * Which function of a role it is, only its own policy can ask. Source: AWS Lambda Developer Guide, "Working with Lambda
   * execution environment credentials".
   */
  allow(role: IRole, { read, write, writer }: StateGrant): void {
    const arns = (keys: readonly string[]) => keys.map((key) => this.arnForObjects(key));
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:ListBucket'], resources: [this.bucketArn] }));
    if (read.length > 0)
      role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:GetObject'], resources: arns(read) }));
    if (write.length > 0) {
      const conditions = writer === undefined ? {} : { ArnEquals: { 'lambda:SourceFunctionArn': writer } };
      role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:PutObject'], resources: arns(write), conditions }));
      this.addToResourcePolicy(onlyBy([role], { actions: ['s3:PutObject'], resources: arns(write) }));
      this.#key?.grantEncryptDecrypt(role);
    } else this.#key?.grantDecrypt(role);
    const bucket = this.stack.resolve(this.bucketArn)['Fn::GetAtt'].join('.');
    acknowledgeWildcards(
      role,
      'Orders and outcomes are objects of one tick each.',
      [...read, ...write].filter((key) => key.endsWith('*')).map((key) => `Resource::<${bucket}>/${key}`),
    );
  }
}
