import { randomBytes } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { sendMessage } from '../aws/queues.ts';
import { readWebhookKey } from '../aws/webhook-key.ts';
import { isKey } from '../fleet/webhook-token.ts';
import { HUB_SIZES } from '../hub-sizes.ts';
import { requiredVariable } from './environment.ts';
import { createWebhookHandler } from './handle-webhook.ts';

const secrets = new SecretsManagerClient();
const sqs = new SQSClient();
const secret = requiredVariable('KEY_SECRET_ARN');
const waiting = requiredVariable('WAITING_QUEUE_URL');
const handleWebhook = createWebhookHandler({
  readKey: async (signal) => readWebhookKey(secrets, secret, isKey, signal),
  wait: async (body, delaySeconds, signal) => sendMessage(sqs, waiting, body, { delaySeconds }, signal),
  salt: () => randomBytes(16).toString('base64url'),
  clock: Date.now,
});

/**
 * Anyone who knows its URL can invoke it. It logs no line and publishes no metric for a call, so that a flood costs no
 * more than its calls.
 */
export async function handler(event: unknown) {
  return handleWebhook(event, AbortSignal.timeout((HUB_SIZES.webhook.timeoutSeconds - 1) * 1_000));
}
