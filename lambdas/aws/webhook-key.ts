import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';

/** At least 32 bytes, as RFC 2104 (section 3) recommends for SHA-256. */
const KEY = /^[\w+/=.-]{43,256}$/;

/** Reads the key of the tokens. @throws AwsError, without the value */
export async function readWebhookKey(client: SecretsManagerClient, arn: string, signal: AbortSignal): Promise<string> {
  const object = `secretsmanager:GetSecretValue ${arn}`;
  const { SecretString: key = '' } = await callAws({ object }, signal, (abortSignal) =>
    client.send(new GetSecretValueCommand({ SecretId: arn }), { abortSignal }),
  );
  if (KEY.test(key)) return key;
  throw invalid(object, 'it holds no key', 'Store a new one (docs/deploy.md, Webhook).');
}
