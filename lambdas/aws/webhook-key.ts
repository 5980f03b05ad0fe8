import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { callAws } from './call.ts';
import { invalid } from './classify.ts';

/**
 * Reads the key that signs the tokens of clusters.
 *
 * @param secret its ARN
 * @param isKey whether a text is long enough for a key
 * @throws AwsError, without the value
 */
export async function readWebhookKey(
  client: SecretsManagerClient,
  secret: string,
  isKey: (text: string) => boolean,
  signal: AbortSignal,
): Promise<string> {
  const object = `secretsmanager:GetSecretValue ${secret}`;
  const { SecretString: key } = await callAws({ object }, signal, (abortSignal) =>
    client.send(new GetSecretValueCommand({ SecretId: secret }), { abortSignal }),
  );
  if (key !== undefined && isKey(key)) return key;
  throw invalid(
    object,
    'it holds no key: 43 to 256 letters, digits and any of _+/=.-',
    `Store a new one: aws secretsmanager put-secret-value --secret-id ${secret} --secret-string "$(openssl rand -hex 32)"`,
  );
}
