import type { Failure } from '../contracts/problem.ts';

/**
 * Why a call to AWS failed:
 *
 * - `denied`: the role may not do it, or may not be assumed.
 * - `expired`: the credentials are no longer valid.
 * - `clock`: the signature is rejected, as with a wrong clock.
 * - `region`: the Region is not enabled in that account, or does not exist.
 * - `not-found`: the cluster, bucket, function or secret does not exist.
 * - `throttled`: AWS throttled every try.
 * - `conflict`: a conditional write found another version.
 * - `invalid`: AWS rejected the call as malformed, or its answer cannot be used.
 * - `aborted`: the caller's signal.
 * - `unavailable`: AWS did not answer, or not in time.
 */
export type AwsErrorKind =
  | 'denied'
  | 'expired'
  | 'clock'
  | 'region'
  | 'not-found'
  | 'throttled'
  | 'conflict'
  | 'invalid'
  | 'aborted'
  | 'unavailable';

export interface AwsErrorDetails extends Failure {
  readonly kind: AwsErrorKind;
}

/** Every failure of a call to AWS. No message contains a credential. */
export class AwsError extends Error {
  override readonly name = 'AwsError';
  readonly kind!: AwsErrorKind;
  readonly object!: string;
  readonly problem!: string;
  readonly remedy!: string;

  constructor(details: AwsErrorDetails) {
    super(`${details.object}: ${details.problem}. ${details.remedy}`);
    Object.assign(this, details);
  }
}

/** Whether another writer was faster. */
export function isConflict(error: unknown): boolean {
  return error instanceof AwsError && error.kind === 'conflict';
}
