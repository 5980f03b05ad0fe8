import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';

/**
 * The topic that every alarm goes to: encrypted, reached over TLS only. The key is our own because CloudWatch may not publish to a topic
 * under the key that AWS manages for SNS.
 */
export class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string) {
    const key = new Key(scope, `${id}Key`, {
      description: 'certmarshal: encrypts the topic of the alarms',
      enableKeyRotation: true,
    });
    key.grantEncryptDecrypt(new ServicePrincipal('cloudwatch.amazonaws.com'));
    super(scope, id, { displayName: 'certmarshal alarms', masterKey: key, enforceSSL: true });
  }
}
