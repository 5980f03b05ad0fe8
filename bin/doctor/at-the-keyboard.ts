import { AwsError } from '../../lambdas/aws/errors.ts';

/** The remedy for a user at a terminal. Those of AwsError are for operators of the functions. */
export function remedyAtTheKeyboard(
  { kind, remedy }: Pick<AwsError, 'kind' | 'remedy'>,
  env: NodeJS.ProcessEnv = process.env,
): string {
  if (env['AWS_LAMBDA_FUNCTION_NAME'] !== undefined) return remedy;
  if (kind === 'expired') return 'Sign in to AWS, for example aws sso login, or name another profile: AWS_PROFILE.';
  if (kind === 'unavailable')
    return 'Check your own network first: whether the name resolves (DNS), and whether there is a route without a proxy: certmarshal uses none. Then check the health of the service in that Region.';
  return remedy;
}

/** An AWS error as sentences for the user, with the remedy. Rethrows any other error. */
export function awsErrorWords(error: unknown): string {
  if (!(error instanceof AwsError)) throw error;
  return `${error.object}: ${error.problem}. ${remedyAtTheKeyboard(error)}`;
}
