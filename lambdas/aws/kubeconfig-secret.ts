import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
  SecretsManagerServiceException,
} from '@aws-sdk/client-secrets-manager';

/** Time for all tries of one read. Milliseconds. */
const DEADLINE_MS = 5_000;

/**
 * Why a secret cannot be used:
 *
 * - `not-found`: it does not exist, or is scheduled for deletion.
 * - `denied`: the function may not read it, or may not use its key.
 * - `unusable`: it has no text.
 * - `unavailable`: Secrets Manager did not answer in time, or throttled. Says nothing about the secret.
 */
export type SecretProblem = 'not-found' | 'denied' | 'unusable' | 'unavailable';

/** Thrown when a kubeconfig cannot be read from its secret. Contains nothing of the secret's value. */
export class KubeconfigSecretError extends Error {
  override readonly name = 'KubeconfigSecretError';
  readonly kind!: SecretProblem;
  readonly object!: string;
  readonly problem!: string;
  /** One sentence: what to do about it. */
  readonly remedy!: string;

  constructor(kind: SecretProblem, arn: string, problem: string) {
    const object = `secret ${arn}`;
    const remedy = REMEDY[kind];
    super(`${object}: ${problem}. ${remedy}`);
    Object.assign(this, { kind, object, problem, remedy });
  }
}

const REMEDY: Readonly<Record<SecretProblem, string>> = {
  'not-found': 'Create it, or correct its ARN in fleet.yaml and deploy.',
  denied: 'Deploy after every change of fleet.yaml. A KMS key of your own must let the sweep role decrypt.',
  unusable: 'Store the text that kubectl config view --raw --flatten --minify prints.',
  unavailable: 'The next sweep tries again; if it persists, check the health of Secrets Manager and the route to it.',
};

/**
 * Reads the text of a kubeconfig.
 *
 * @param arn complete ARN of the secret
 * @throws KubeconfigSecretError
 */
export type ReadKubeconfigSecret = (arn: string, signal: AbortSignal) => Promise<string>;

/**
 * Reads secrets, each in the Region of its ARN.
 *
 * @param options of every client; the environment has Region and credentials
 */
export function createSecretReader(options: SecretsManagerClientConfig = {}): ReadKubeconfigSecret {
  const clients = new Map<string, SecretsManagerClient>();
  return async (arn, signal) => {
    const region = arn.split(':')[3] ?? '';
    const client = clients.get(region) ?? new SecretsManagerClient({ ...options, region });
    clients.set(region, client);
    const text = await secretString(client, arn, signal);
    if (text === undefined) throw new KubeconfigSecretError('unusable', arn, 'it holds binary data');
    return text;
  };
}

async function secretString(
  client: SecretsManagerClient,
  arn: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn }), {
      abortSignal: AbortSignal.any([signal, deadline]),
    });
    return SecretString;
  } catch (error) {
    // Not kept as cause: the SDK attaches the response to its errors, which contains the secret.
    if (signal.aborted) throw new KubeconfigSecretError('unavailable', arn, 'it ran out of time');
    if (deadline.aborted) throw new KubeconfigSecretError('unavailable', arn, `no answer within ${DEADLINE_MS} ms`);
    throw refused(arn, error);
  }
}

function refused(arn: string, error: unknown): KubeconfigSecretError {
  const name = error instanceof Error ? error.name : 'an unknown error';
  if (!(error instanceof SecretsManagerServiceException))
    return new KubeconfigSecretError('unavailable', arn, `Secrets Manager cannot be called (${name})`);
  switch (name) {
    case 'ResourceNotFoundException':
      return new KubeconfigSecretError('not-found', arn, 'it does not exist, or has no current version');
    // The answer of GetSecretValue for a secret that is scheduled for deletion, and for an invalid name.
    case 'InvalidRequestException':
    case 'InvalidParameterException':
    case 'ValidationException':
      return new KubeconfigSecretError('not-found', arn, `it is scheduled for deletion or not a secret (${name})`);
    case 'AccessDeniedException':
    case 'DecryptionFailure':
      return new KubeconfigSecretError('denied', arn, `it may not be read (${name})`);
    default:
      return new KubeconfigSecretError('unavailable', arn, `Secrets Manager failed (${name})`);
  }
}
