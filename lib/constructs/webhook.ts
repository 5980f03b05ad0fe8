import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { HubOptions } from '../../lambdas/config/fleet.ts';
import { webhookFunctionName } from '../../lambdas/fleet/role-names.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { HubFunction } from './hub-function.ts';

export interface WebhookProps {
  /** Where hints wait. */
  readonly waiting: IQueue;
  readonly architecture: HubOptions['architecture'];
  readonly key?: IKey | undefined;
}

/**
 * The URL that admission webhooks of clusters send hints to, and the key that their tokens are made with. The URL has no authentication of AWS, because a kube-apiserver cannot sign: the
 * function tells by the token, which permits a hint and nothing else. It has a role of its own, concurrency of its own, and no line in the log for a call.
 */
export class Webhook extends Construct {
  public readonly webhook: HubFunction;

  constructor(scope: Construct, id: string, { waiting, architecture, key }: WebhookProps) {
    super(scope, id);
    const { memoryMiB, timeoutSeconds, concurrency } = HUB_SIZES.webhook;
    const secret = new Secret(this, 'Key', {
      description: 'certmarshal: makes the tokens of clusters that send hints',
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      encryptionKey: key,
    });
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'A new key makes every token in every cluster invalid: a person changes it, with the manifests.',
    });
    const webhook = new HubFunction(this, 'Webhook', {
      functionName: webhookFunctionName(Stack.of(this).stackName),
      handlerFile: 'webhook',
      description: 'Takes hints from admission webhooks of clusters',
      timeout: Duration.seconds(timeoutSeconds),
      memorySize: memoryMiB,
      reservedConcurrentExecutions: concurrency,
      environment: { KEY_SECRET_ARN: secret.secretArn, WAITING_QUEUE_URL: waiting.queueUrl },
      quiet: true,
      architecture,
      key,
    });
    webhook.addToRolePolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [secret.secretArn] }),
    );
    key?.grantDecrypt(webhook);
    waiting.grantSendMessages(webhook);
    this.webhook = webhook;
    const { url } = webhook.addFunctionUrl({ authType: FunctionUrlAuthType.NONE });
    new CfnOutput(Stack.of(this), 'WebhookUrl', {
      value: url,
      description: 'Where clusters send hints: certmarshal credentials create --hints prints the manifest',
    });
    new CfnOutput(Stack.of(this), 'WebhookKeyArn', {
      value: secret.secretArn,
      description: 'The key of the tokens of clusters; anyone who reads it can have any cluster swept',
    });
  }
}
