import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { HubOptions } from '../../lambdas/config/fleet.ts';
import { webhookFunctionName } from '../../lambdas/fleet/role-names.ts';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { HubFunction } from './hub-function.ts';
import type { SweepLane } from './lane.ts';

export interface WebhookProps {
  readonly lanes: readonly SweepLane[];
  /** JSON: name of the sweep by name of the lane. */
  readonly laneFunctions: string;
  readonly architecture: HubOptions['architecture'];
  readonly key?: IKey | undefined;
}

/**
 * The URL that the admission webhook of a cluster calls, so that the cluster is swept at once, and the key that tokens are
 * made with. The URL has no authentication of AWS, because a kube-apiserver cannot sign: a valid token starts the sweep of
 * its cluster and nothing else. Role and concurrency are the function's own, and a call makes no line in the log.
 */
export class Webhook extends Construct {
  public readonly webhook: HubFunction;

  constructor(scope: Construct, id: string, { lanes, laneFunctions, architecture, key }: WebhookProps) {
    super(scope, id);
    const { memoryMiB, timeoutSeconds, concurrency } = HUB_SIZES.webhook;
    const secret = new Secret(this, 'Key', {
      description: 'certmarshal: makes the tokens of clusters that call the webhook',
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
      description: 'Starts the sweep of a cluster whose admission webhook calls',
      timeout: Duration.seconds(timeoutSeconds),
      memorySize: memoryMiB,
      reservedConcurrentExecutions: concurrency,
      environment: { KEY_SECRET_ARN: secret.secretArn, LANE_FUNCTIONS: laneFunctions },
      quiet: true,
      architecture,
      key,
    });
    webhook.addToRolePolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [secret.secretArn] }),
    );
    webhook.addToRolePolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: lanes.map(({ sweep }) => sweep.functionArn),
      }),
    );
    key?.grantDecrypt(webhook);
    this.webhook = webhook;
    const { url } = webhook.addFunctionUrl({ authType: FunctionUrlAuthType.NONE });
    new CfnOutput(Stack.of(this), 'WebhookUrl', {
      value: url,
      description: 'What clusters call: certmarshal credentials create --webhook prints the manifest',
    });
    new CfnOutput(Stack.of(this), 'WebhookKeyArn', {
      value: secret.secretArn,
      description: 'The key of the tokens of clusters; anyone who reads it can have any cluster swept',
    });
  }
}
