import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { callAws } from '../aws/call.ts';
import { readWebhookKey } from '../aws/webhook-key.ts';
import { laneFunctions, requiredVariable } from './environment.ts';
import { createWebhookHandler } from './handle-webhook.ts';

const [lambda, secrets, arn] = [new LambdaClient(), new SecretsManagerClient(), requiredVariable('KEY_SECRET_ARN')];

/** A call without an error makes no line and no metric, so that a flood costs only its calls. */
export const handler = createWebhookHandler({
  readKey: async (signal) => readWebhookKey(secrets, arn, signal),
  starts: [...laneFunctions().values()].map((FunctionName) => async (cluster, signal) => {
    const command = new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: JSON.stringify({ cluster }) });
    const object = `lambda:InvokeFunction ${FunctionName}`;
    await callAws({ object }, signal, (abortSignal) => lambda.send(command, { abortSignal }));
  }),
  log: console.error,
  clock: Date.now,
});
