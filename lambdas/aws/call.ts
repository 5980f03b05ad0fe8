import type { AwsScope } from '../contracts/target.ts';
import { aborted, classify, unanswered } from './classify.ts';
import type { AwsError, AwsErrorKind } from './errors.ts';

/** For one call with its connection and, where the SDK retries, all of its tries. Milliseconds. */
export const CALL_DEADLINE_MS = 10_000;

/** What is attempted, for errors. */
export interface Call {
  /** `eks:ListClusters in 111122223333/eu-central-1`. */
  readonly object: string;
  /** Instead of the general ones. */
  readonly remedies?: Readonly<Partial<Record<AwsErrorKind, string>>>;
}

/** `eks:DescribeCluster dublin in 111122223333/eu-central-1`. */
export function describeCall(action: string, { account, region }: Pick<AwsScope, 'account' | 'region'>): string {
  return `${action} in ${account}/${region}`;
}

/**
 * Makes one call to AWS, with a deadline beside the caller's signal.
 *
 * @param send gets the signal that ends it; it is not waited for when it does not heed that signal
 * @throws AwsError
 */
export async function callAws<T>(
  { object, remedies }: Call,
  signal: AbortSignal,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw aborted(object);
  const deadline = AbortSignal.timeout(CALL_DEADLINE_MS);
  const both = AbortSignal.any([signal, deadline]);
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(both.reason);
  // The SDK looks at a signal only while a request is out, not while it fetches credentials or waits for its next try.
  both.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([send(both), ended.promise]);
  } catch (error) {
    if (signal.aborted) throw aborted(object);
    if (deadline.aborted) throw unanswered(object, CALL_DEADLINE_MS);
    throw classify(error, object, remedies) satisfies AwsError;
  } finally {
    both.removeEventListener('abort', end);
  }
}
