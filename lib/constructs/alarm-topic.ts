import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

/**
 * The topic that every alarm of this account and Region may publish to, and nobody else: encrypted, reached over TLS only.
 *
 * CloudWatch needs to be named twice. A topic with a policy of its own loses the one that lets the account publish, and the key that
 * AWS manages for SNS cannot be opened to CloudWatch. Source: AWS re:Post, "Why didn't I receive an SNS notification for my
 * CloudWatch alarm trigger?".
 */
export class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string) {
    const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');
    const key = new Key(scope, `${id}Key`, {
      description: 'certmarshal: encrypts the topic of the alarms',
      enableKeyRotation: true,
      // Nothing that it encrypted is kept.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
        resources: ['*'],
      }),
    );
    super(scope, id, { displayName: 'certmarshal alarms', masterKey: key, enforceSSL: true });
    const alarms = Stack.of(this).formatArn({
      service: 'cloudwatch',
      resource: 'alarm',
      resourceName: '*',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.addToResourcePolicy(
      new PolicyStatement({
        principals: [cloudWatch],
        actions: ['sns:Publish'],
        resources: [this.topicArn],
        conditions: { ArnLike: { 'aws:SourceArn': alarms } },
      }),
    );
  }
}
