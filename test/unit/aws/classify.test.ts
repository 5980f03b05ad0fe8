import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classify } from '../../../lambdas/aws/classify.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';

const OBJECT = 'eks:ListClusters in 111122223333/eu-central-1';

/** An error as the SDK throws it. */
function serviceError(name: string, status: number, message = `${name} of the test`): Error {
  return Object.assign(new Error(message), { name, $fault: 'client', $metadata: { httpStatusCode: status } });
}

function nodeError(code: string): Error {
  return Object.assign(new Error(`${code} of the test`), { code });
}

describe('classify', () => {
  it.each([
    ['AccessDeniedException', 403, 'denied'],
    ['UnauthorizedOperation', 403, 'denied'],
    ['ExpiredTokenException', 403, 'expired'],
    ['ExpiredToken', 400, 'expired'],
    ['RequestExpired', 400, 'expired'],
    ['RequestTimeTooSkewed', 403, 'clock'],
    ['SignatureDoesNotMatch', 403, 'clock'],
    ['InvalidSignatureException', 403, 'clock'],
    ['UnrecognizedClientException', 400, 'region'],
    ['InvalidClientTokenId', 403, 'region'],
    ['AuthFailure', 401, 'region'],
    ['RegionDisabledException', 403, 'region'],
    ['OptInRequired', 403, 'region'],
    ['ResourceNotFoundException', 404, 'not-found'],
    ['NoSuchBucket', 404, 'not-found'],
    ['QueueDoesNotExist', 400, 'not-found'],
    ['ThrottlingException', 429, 'throttled'],
    ['Throttling', 400, 'throttled'],
    ['RequestLimitExceeded', 503, 'throttled'],
    ['SlowDown', 503, 'throttled'],
    ['TooManyRequestsException', 429, 'throttled'],
    ['PreconditionFailed', 412, 'conflict'],
    ['ConditionalRequestConflict', 409, 'conflict'],
    ['ServiceUnavailableException', 503, 'unavailable'],
    ['ServerException', 500, 'unavailable'],
    ['InvalidParameterException', 400, 'invalid'],
    ['SomethingNew', 403, 'denied'],
    ['SomethingNew', 404, 'not-found'],
    ['SomethingNew', 412, 'conflict'],
    ['SomethingNew', 429, 'throttled'],
    ['SomethingNew', 502, 'unavailable'],
    ['SomethingNew', 418, 'invalid'],
  ] as const)('reads %s (%i) as %s', (name, status, kind) => {
    const error = classify(serviceError(name, status), OBJECT);
    expect(error).toMatchObject({ kind, object: OBJECT });
    expect(error.problem).toContain(name);
    expect(error.remedy).toMatch(/^[A-Z].*\.$/);
    expect(error.message).toBe(`${OBJECT}: ${error.problem}. ${error.remedy}`);
  });

  it.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'CERT_HAS_EXPIRED', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])(
    'reads %s of Node.js as unavailable',
    (code) => {
      const error = classify(nodeError(code), OBJECT);
      expect(error).toMatchObject({ kind: 'unavailable', problem: `the service cannot be reached (${code})` });
    },
  );

  it('asks for the clock when a signature is not accepted', () => {
    expect(classify(serviceError('RequestTimeTooSkewed', 403), OBJECT).remedy).toContain('clock');
  });

  it('asks to sign in when there are no credentials', () => {
    const missing = Object.assign(new Error('Could not load'), { name: 'CredentialsProviderError' });
    expect(classify(missing, OBJECT)).toMatchObject({ kind: 'expired', remedy: expect.stringContaining('Sign in') });
  });

  it('repeats what IAM says of a refusal, without what EC2 encodes', () => {
    const said = 'You are not authorized to perform this operation. Encoded authorization failure message: abc123';
    const error = classify(serviceError('UnauthorizedOperation', 403, said), OBJECT);
    expect(error.problem).toBe(
      'access is denied (UnauthorizedOperation): You are not authorized to perform this operation',
    );
  });

  it('repeats no other message: that of a wrong signature holds the session token', () => {
    const error = classify(serviceError('SignatureDoesNotMatch', 403, 'x-amz-security-token:SENTINEL'), OBJECT);
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('SENTINEL');
  });

  it('prefers the remedy of the caller, and hands an AwsError on', () => {
    const error = classify(serviceError('AccessDenied', 403), OBJECT, { denied: 'Deploy the spoke stack.' });
    expect(error.remedy).toBe('Deploy the spoke stack.');
    expect(classify(error, 'another')).toBe(error);
  });

  it('makes something printable and short of everything', () => {
    const status = fc.option(fc.integer({ min: 0, max: 999 }), { nil: undefined });
    const text = fc.string({ unit: 'binary', maxLength: 2000 });
    const property = fc.property(text, text, status, (name, message, httpStatusCode) => {
      const error = classify(
        Object.assign(new Error(message), { name, $fault: 'client', $metadata: { httpStatusCode } }),
        OBJECT,
      );
      expect(error).toBeInstanceOf(AwsError);
      expect(error.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
      expect(error.message.length).toBeLessThan(2_000);
    });
    fc.assert(property, { seed: 4, numRuns: 500 });
  });

  it.each([undefined, 'text', 7, null, {}])('survives %j being thrown', (thrown) => {
    expect(classify(thrown, OBJECT)).toMatchObject({ kind: 'unavailable' });
  });
});
