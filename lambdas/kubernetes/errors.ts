import type { Failure } from '../contracts/problem.ts';

/**
 * Kinds of failures, by what fixes them:
 *
 * - `unauthorized`: 401, or the client certificate was rejected in the handshake.
 * - `credentials`: none were available, so nothing was sent.
 * - `forbidden`: 403.
 * - `not-found`: 404.
 * - `conflict`: 409, the object changed or was replaced since it was read.
 * - `gone`: 410, the snapshot behind a continue token has expired.
 * - `throttled`: 429.
 * - `server`: 5xx.
 * - `unreachable`: no connection, or it broke.
 * - `unresolved`: DNS does not know the server: it may have moved, like a cluster that was created again.
 * - `timeout`: the deadline of one try passed.
 * - `aborted`: the caller's signal, or the client was closed.
 * - `certificate`: the endpoint's certificate is not trusted, or ours cannot be used.
 * - `certificate-expired`: a certificate that the endpoint sends has expired; a TLS client does not say which one.
 * - `too-large`: the answer exceeds the caller's limit.
 * - `not-kubernetes`: the answer is not from a Kubernetes API (HTML, a redirect, broken JSON, not a list).
 * - `invalid`: the request was rejected as malformed, by the server or before it was sent.
 */
export type KubernetesErrorKind =
  | 'unauthorized'
  | 'credentials'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'gone'
  | 'throttled'
  | 'server'
  | 'unreachable'
  | 'unresolved'
  | 'timeout'
  | 'aborted'
  | 'certificate'
  | 'certificate-expired'
  | 'too-large'
  | 'not-kubernetes'
  | 'invalid';

/** The endpoint shows a certificate that is not accepted. */
export const CERTIFICATE_KINDS: ReadonlySet<string> = new Set<KubernetesErrorKind>([
  'certificate',
  'certificate-expired',
]);

export interface KubernetesErrorDetails extends Failure {
  readonly kind: KubernetesErrorKind;
  /** HTTP status, if there was an answer. */
  readonly status?: number;
  /** `reason` of the Kubernetes Status, for example `AlreadyExists`. */
  readonly reason?: string;
  /** The wait that the server asked for, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Code of the system or TLS error, for example `ECONNREFUSED`, or our own. */
  readonly code?: string;
  /** For 410 on a list: the token to continue on the newest snapshot. */
  readonly continueToken?: string;
  /** All other items of the list were read. */
  readonly skipped?: SkippedItems;
}

/** An item of a list that is too large to read, as far as the server tells; texts as the cluster wrote them. */
export interface SkippedItem {
  readonly name?: string;
  readonly signerName?: string;
  readonly username?: string;
  /** The item before it in the list, `namespace/name`. */
  readonly after?: string;
}

export interface SkippedItems {
  /** The first hundred of {@link count}. */
  readonly items: readonly SkippedItem[];
  readonly count: number;
}

/** Every failure of a call to an API server. No message contains a credential or an unescaped byte of the answer. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError';
  readonly kind!: KubernetesErrorKind;
  readonly object!: string;
  readonly problem!: string;
  readonly remedy!: string;
  readonly status?: number;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  readonly code?: string;
  readonly continueToken?: string;
  readonly skipped?: SkippedItems;

  constructor(details: KubernetesErrorDetails, options?: ErrorOptions) {
    super(`${details.object}: ${details.problem}. ${details.remedy}`, options);
    Object.assign(this, details);
  }
}
