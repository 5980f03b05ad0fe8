import { AwsError } from '../../../lambdas/aws/errors.ts';

/** What a promise is rejected with, which has to be an AwsError. */
export async function awsFailure(promise: Promise<unknown>): Promise<AwsError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AwsError)) throw new Error('not an AwsError', { cause: error });
  return error;
}
