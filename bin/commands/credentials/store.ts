import { AwsError } from '../../../lambdas/aws/errors.ts';
import { UsageError } from '../../exit-codes.ts';

export type Store = { readonly kind: 'stdout' } | { readonly kind: 'secretsmanager'; readonly name: string };

const PREFIX = 'secretsmanager:';
/** Source: Secrets Manager API Reference, CreateSecret. */
const SECRET_NAME = /^[A-Za-z0-9/_+=.@-]{1,512}$/;

/** @throws UsageError */
export function parseStore(text: string): Store {
  if (text === 'stdout') return { kind: 'stdout' };
  const name = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : '';
  if (SECRET_NAME.test(name)) return { kind: 'secretsmanager', name };
  throw new UsageError(
    `--store takes stdout or secretsmanager:NAME, for example secretsmanager:certmarshal/berlin-prod; a name has letters, digits and any of /_+=.@-`,
  );
}

export interface StoredSecret {
  readonly arn: string;
  readonly created: boolean;
}

/**
 * Creates a secret with this text, or a new version of an existing secret.
 *
 * @throws AwsError
 */
export type StoreSecret = (name: string, text: string, signal: AbortSignal) => Promise<StoredSecret>;

/** Uses the account and Region of the environment, like the AWS CLI. */
export const storeInSecretsManager: StoreSecret = async (name, text, signal) => {
  const { CreateSecretCommand, PutSecretValueCommand, ResourceExistsException, SecretsManagerClient } = await import(
    '@aws-sdk/client-secrets-manager'
  );
  const client = new SecretsManagerClient({});
  const options = { abortSignal: signal };
  let action = 'CreateSecret';
  try {
    const create = new CreateSecretCommand({
      Name: name,
      SecretString: text,
      Description: 'kubeconfig that certmarshal sweeps a cluster with',
    });
    const created = await client.send(create, options).catch((error: unknown) => {
      if (error instanceof ResourceExistsException) return undefined;
      throw error;
    });
    if (created !== undefined) return { arn: arnOf(created.ARN, name), created: true };
    action = 'PutSecretValue';
    const { ARN } = await client.send(new PutSecretValueCommand({ SecretId: name, SecretString: text }), options);
    return { arn: arnOf(ARN, name), created: false };
  } catch (error) {
    if (error instanceof AwsError) throw error;
    throw storeError(error, action, name);
  } finally {
    client.destroy();
  }
};

function arnOf(arn: string | undefined, name: string): string {
  if (arn !== undefined) return arn;
  throw new AwsError({
    kind: 'invalid',
    object: `secret ${name}`,
    problem: 'AWS answered without an ARN',
    remedy: `Check it: aws secretsmanager describe-secret --secret-id ${name}`,
  });
}

/** The error is not kept as cause: the SDK attaches request and response to it, and the request contains the secret. */
function storeError(error: unknown, action: string, name: string): AwsError {
  const code = error instanceof Error ? error.name : 'unknown error';
  const object = `secretsmanager:${action} ${name}`;
  const failure = (kind: AwsError['kind'], problem: string, remedy: string) =>
    new AwsError({ kind, object, problem: `${problem} (${code})`, remedy });
  switch (code) {
    case 'AccessDeniedException':
    case 'EncryptionFailure':
    case 'KMSAccessDeniedException':
      return failure(
        'denied',
        'access is denied',
        `Allow secretsmanager:${action} on this secret, and the use of its KMS key, to your identity: aws sts get-caller-identity`,
      );
    case 'InvalidRequestException':
      return failure(
        'conflict',
        'it is scheduled for deletion',
        `Restore it first: aws secretsmanager restore-secret --secret-id ${name}`,
      );
    case 'CredentialsProviderError':
    case 'ExpiredTokenException':
    case 'UnrecognizedClientException':
      return failure('expired', 'there are no usable AWS credentials', 'Sign in, for example: aws sso login');
    default:
      return failure(
        'unavailable',
        'it cannot be stored',
        'Name the Region (AWS_REGION) and check the route to Secrets Manager; running the command again is harmless.',
      );
  }
}
