/**
 * What went wrong, by what can be done about it:
 *
 * - `unauthorized`: 401, or the client certificate was refused in the handshake.
 * - `credentials`: none could be had, so nothing was sent.
 * - `forbidden`: 403.
 * - `not-found`: 404.
 * - `conflict`: 409, the object changed or was replaced since it was read.
 * - `gone`: 410, the snapshot behind a continue token is no longer kept.
 * - `throttled`: 429.
 * - `server`: 5xx.
 * - `unreachable`: no connection, or it broke.
 * - `timeout`: the deadline of one try passed.
 * - `aborted`: the caller's signal, or the client was closed.
 * - `certificate`: the endpoint's certificate is not trusted, or ours cannot be used.
 * - `too-large`: the answer is larger than the caller takes.
 * - `not-kubernetes`: the answer is not what the Kubernetes API would say (HTML, a redirect, broken JSON, no list).
 * - `invalid`: the request was refused as malformed, or refused here before it was sent.
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
  | 'timeout'
  | 'aborted'
  | 'certificate'
  | 'too-large'
  | 'not-kubernetes'
  | 'invalid';

export interface KubernetesErrorDetails {
  readonly kind: KubernetesErrorKind;
  /** What was attempted on what: `list certificatesigningrequests on https://…`. */
  readonly object: string;
  /** What happened, without a full stop. */
  readonly problem: string;
  /** One sentence: what to do about it. */
  readonly remedy: string;
  /** HTTP status, if there was an answer. */
  readonly status?: number;
  /** `reason` of the Kubernetes Status, for example `AlreadyExists`. */
  readonly reason?: string;
  /** How long the server asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Code of the system or TLS error, for example `ECONNREFUSED`. */
  readonly code?: string;
  /** With 410 on a list: the token that continues it on the newest snapshot. */
  readonly continueToken?: string;
}

/** Every failure of a call to an API server. No message contains a credential or an unescaped byte of the answer. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError';
  readonly kind: KubernetesErrorKind;
  readonly object: string;
  readonly problem: string;
  readonly remedy: string;
  readonly status?: number;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  readonly code?: string;
  readonly continueToken?: string;

  constructor(details: KubernetesErrorDetails, options?: ErrorOptions) {
    super(`${details.object}: ${details.problem}. ${details.remedy}`, options);
    this.kind = details.kind;
    this.object = details.object;
    this.problem = details.problem;
    this.remedy = details.remedy;
    if (details.status !== undefined) this.status = details.status;
    if (details.reason !== undefined) this.reason = details.reason;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    if (details.code !== undefined) this.code = details.code;
    if (details.continueToken !== undefined) this.continueToken = details.continueToken;
  }
}
