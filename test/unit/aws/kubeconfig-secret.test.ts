import { describe, expect, it } from 'vitest';
import { createSecretReader, KubeconfigSecretError } from '../../../lambdas/aws/kubeconfig-secret.ts';
import { clientConfig, refusal, type ServiceAnswer, startJsonService } from './json-service.ts';

const ARN = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:certmarshal/berlin-AbCdEf';
const never = new AbortController().signal;

async function read(answer: ServiceAnswer | undefined, signal = never): Promise<{ text: string; calls: number }> {
  await using service = await startJsonService(() => answer);
  // One try: the SDK's own back-off is not under test.
  const readSecret = createSecretReader({ ...clientConfig(service), maxAttempts: 1 });
  return { text: await readSecret(ARN, signal), calls: service.calls.length };
}

async function failure(...args: Parameters<typeof read>): Promise<KubeconfigSecretError> {
  const error: unknown = await read(...args).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubeconfigSecretError)) throw new Error('not a KubeconfigSecretError', { cause: error });
  return error;
}

describe('createSecretReader', () => {
  it('gives the text, with one call', async () => {
    expect(await read({ body: { SecretString: 'kind: Config' } })).toEqual({ text: 'kind: Config', calls: 1 });
  });

  it.each([
    ['ResourceNotFoundException', 400, 'not-found'],
    ['InvalidRequestException', 400, 'not-found'],
    ['AccessDeniedException', 400, 'denied'],
    ['DecryptionFailure', 400, 'denied'],
    ['ThrottlingException', 400, 'unavailable'],
    ['InternalServiceError', 500, 'unavailable'],
  ] as const)('says what %s means', async (type, status, kind) => {
    const error = await failure(refusal(type, status));
    expect(error).toMatchObject({ kind, object: `secret ${ARN}` });
    expect(error.message).toContain(type === 'ResourceNotFoundException' ? 'does not exist' : type);
    expect(error.message).toContain(error.remedy);
  });

  it('does not take a binary secret', async () => {
    const body = { SecretBinary: Buffer.from('x').toString('base64') };
    expect(await failure({ body })).toMatchObject({ kind: 'unusable' });
  });

  it('asks in the Region of the secret', async () => {
    await using service = await startJsonService(() => ({ body: { SecretString: 'kind: Config' } }));
    await createSecretReader(clientConfig(service))(ARN, never);
    expect(service.calls).toMatchObject([
      { operation: 'secretsmanager.GetSecretValue', region: 'eu-central-1', input: { SecretId: ARN } },
    ]);
  });

  it('tells an unreachable service from a bad secret', async () => {
    const readSecret = createSecretReader({ ...clientConfig({ url: 'http://127.0.0.1:1' }), maxAttempts: 1 });
    await expect(readSecret(ARN, never)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('ends with the signal when no answer comes', async () => {
    const error = await failure(undefined, AbortSignal.timeout(50));
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(error.message).toContain('it ran out of time');
  });

  it('quotes nothing of an answer it cannot parse', async () => {
    const error = await failure({ body: 'SENTINEL-value' });
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('SENTINEL');
  });
});
