import { AwsError } from '../../lambdas/aws/errors.ts';

/** The remedies of AwsError are for those who run the functions. At a keyboard other things come first. */
export function remedyAtTheKeyboard(
  { kind, problem, remedy }: Pick<AwsError, 'kind' | 'problem' | 'remedy'>,
  env: NodeJS.ProcessEnv = process.env,
): string {
  if (env['AWS_LAMBDA_FUNCTION_NAME'] !== undefined) return remedy;
  // A signature that is not accepted is the clock's fault, and the remedy says so.
  if (kind === 'expired' && !problem.startsWith('the signature'))
    return 'Sign in to AWS, for example aws sso login, or name another profile: AWS_PROFILE.';
  if (kind === 'unavailable')
    return 'Check your own network first: whether the name resolves (DNS), and whether there is a way that needs no proxy, which is not used. Then check the health of the service in that Region.';
  return remedy;
}

/** An error of AWS as one sentence for the person at the keyboard; what is none is thrown. */
export function awsErrorWords(error: unknown): string {
  if (!(error instanceof AwsError)) throw error;
  return `${error.object}: ${error.problem}. ${remedyAtTheKeyboard(error)}`;
}
