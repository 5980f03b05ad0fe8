import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { STATE_KEYS, type StateObject } from '../../lambdas/fleet/state-keys.ts';
import { onlyBy } from './only-by.ts';
import { privateBucket } from './private-bucket.ts';

/** What a function may do with the objects. */
export interface StateGrant {
  readonly read: readonly StateObject[];
  readonly write: readonly StateObject[];
}

/**
 * State that outlives an invocation: the registry, written by dispatch; fleet index and report page, by report;
 * incidents, by notify; and the ledger of rollouts, by sweeps. Kept when the stack is destroyed.
 * Not versioned: objects are written every few seconds or minutes, and lost ones are rebuilt from the clusters, or were
 * short-lived. Rollouts in progress are on the clusters themselves; only the times of earlier ones would be lost.
 */
export class FleetState extends Bucket {
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, { key }: { readonly key?: IKey | undefined }) {
    super(scope, id, {
      ...privateBucket(key),
      versioned: false,
    });
    this.#key = key;
    Validations.of(this).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Access logs would take a second bucket to record what four functions do each minute; CloudTrail data events record it where that is wanted.',
    });
  }

  /**
   * By object name. Only the granted role may write, whatever policies others have: each object has one writer. With
   * the list permission S3 reports a missing object as missing.
   */
  allow(role: IRole, { read, write }: StateGrant): void {
    const arns = (objects: readonly StateObject[]) => objects.map((object) => this.arnForObjects(STATE_KEYS[object]));
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:ListBucket'], resources: [this.bucketArn] }));
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:GetObject'], resources: arns(read) }));
    if (write.length > 0) {
      role.addToPrincipalPolicy(new PolicyStatement({ actions: ['s3:PutObject'], resources: arns(write) }));
      this.addToResourcePolicy(onlyBy([role], { actions: ['s3:PutObject'], resources: arns(write) }));
      this.#key?.grantEncryptDecrypt(role);
    } else this.#key?.grantDecrypt(role);
  }
}
