import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { ArnFormat, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

export interface AlarmTopicProps {
  readonly displayName: string;
  /** Its policy must let CloudWatch use it if alarms publish. */
  readonly key: IKey;
  /** Whether the alarms of this account and Region may publish to it. @default false */
  readonly fromAlarms?: boolean;
}

/**
 * A topic for alarms: encrypted, with access over TLS only.
 *
 * CloudWatch must be named in two policies, that of the topic and that of the key. A topic policy replaces the default
 * one that lets the account publish, and the AWS managed key of SNS cannot be opened to CloudWatch. Source: AWS
 * re:Post, "Why didn't I receive an SNS notification for my CloudWatch alarm trigger?".
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
