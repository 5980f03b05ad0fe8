import { GetFunctionConfigurationCommand, GetFunctionUrlConfigCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { callAws } from '../lambdas/aws/call.ts';
import { invalid } from '../lambdas/aws/classify.ts';
import { readWebhookKey } from '../lambdas/aws/webhook-key.ts';
import { HUB_STACK, webhookFunctionName } from '../lambdas/fleet/role-names.ts';
import { isKey } from '../lambdas/fleet/webhook-token.ts';
import { requireRegion } from './aws-region.ts';
import type { AwsConfig } from './doctor/aws-calls.ts';

/** The URL to which clusters send hints, and the key of their tokens. */
export interface HubWebhook {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key: string;
}

const REMEDY = `Set hub.webhook: true in fleet.yaml and deploy. If it is deployed already, set AWS_REGION to the Region of the hub and use credentials of its account.`;

/**
 * Reads it from the function that receives hints: `lambda:GetFunctionConfiguration`, `lambda:GetFunctionUrlConfig`, and
 * `secretsmanager:GetSecretValue` of its key.
 *
 * @param config of the hub. @default from the environment
 * @throws AwsError
 * @throws UsageError without a Region
 */
export async function readHubWebhook(signal: AbortSignal, config: AwsConfig = {}): Promise<HubWebhook> {
  const lambda = new LambdaClient(config);
  await requireRegion(lambda);
  const FunctionName = webhookFunctionName(HUB_STACK);
  const remedies = { 'not-found': REMEDY };
  const configuration = `lambda:GetFunctionConfiguration ${FunctionName}`;
  const { Environment } = await callAws({ object: configuration, remedies }, signal, (abortSignal) =>
    lambda.send(new GetFunctionConfigurationCommand({ FunctionName }), { abortSignal }),
  );
  const secret = Environment?.Variables?.['KEY_SECRET_ARN'];
  if (secret === undefined) throw invalid(configuration, 'its environment has no KEY_SECRET_ARN', REMEDY);
  const object = `lambda:GetFunctionUrlConfig ${FunctionName}`;
  const { FunctionUrl = '' } = await callAws({ object, remedies }, signal, (abortSignal) =>
    lambda.send(new GetFunctionUrlConfigCommand({ FunctionName }), { abortSignal }),
  );
  if (!URL.canParse(FunctionUrl) || !FunctionUrl.startsWith('https://'))
    throw invalid(object, 'AWS answered without a URL');
  const key = await readWebhookKey(new SecretsManagerClient(config), secret, isKey, signal);
  return { url: new URL(FunctionUrl).origin, key };
}
