import type { AwsScope } from '../contracts/target.ts';
import { aborted, classify, unanswered } from './classify.ts';
import type { AwsError, AwsErrorKind } from './errors.ts';

/** One call with its connection and, where the SDK retries, all tries. Milliseconds. */
const CALL_DEADLINE_MS = 10_000;

export interface Call {
  /** `eks:ListClusters in 111122223333/eu-central-1`. */
  readonly object: string;
  /** Replace the general remedies. */
  readonly remedies?: Readonly<Partial<Record<AwsErrorKind, string>>>;
}

/** `eks:DescribeCluster dublin in 111122223333/eu-central-1`. */
export function describeCall(action: string, { account, region }: Pick<AwsScope, 'account' | 'region'>): string {
  return `${action} in ${account}/${region}`;
}

/**
 * Makes one call to AWS, with a deadline besides the caller's signal.
 *
 * @param send gets the combined signal, and is abandoned if it ignores it
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
  // The SDK heeds a signal only during a request, not while it fetches credentials or waits for a retry.
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
