import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { ArnFormat, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

export interface AlarmTopicProps {
  readonly displayName: string;
  /** Its policy must let CloudWatch use it, where alarms publish. */
  readonly key: IKey;
  /** Whether the alarms of this account and Region may publish to it. @default false */
  readonly fromAlarms?: boolean;
}

/**
 * A topic that alarms end up in: encrypted, and reached over TLS only.
 *
 * CloudWatch needs to be named twice, here and in the policy of the key. A topic with a policy of its own loses the one that lets the account publish, and the key
 * that AWS manages for SNS cannot be opened to CloudWatch. Source: AWS re:Post, "Why didn't I receive an SNS notification for my CloudWatch alarm trigger?".
 */
export class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string, { displayName, key, fromAlarms = false }: AlarmTopicProps) {
    super(scope, id, { displayName, masterKey: key, enforceSSL: true });
    if (!fromAlarms) return;
    const alarms = Stack.of(this).formatArn({
      service: 'cloudwatch',
      resource: 'alarm',
      resourceName: '*',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topicArn],
        conditions: { ArnLike: { 'aws:SourceArn': alarms } },
      }),
    );
  }
}
