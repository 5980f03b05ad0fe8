import type { ApiMethod } from './client.ts';
import type { KubernetesError } from './errors.ts';
import { parseHttpDate } from './http-date.ts';

/** Tries after the first. */
export const MAX_RETRIES = 3;

const BASE_MS = 200;
const MAX_BACKOFF_MS = 5_000;
const MAX_RETRY_AFTER_MS = 30_000;

/** The connection failed or broke; none of these mean a wrong endpoint. */
const PASSING_FAILURES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

interface Attempt {
  readonly method: ApiMethod;
  /** Retries made so far. */
  readonly retries: number;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * The wait before the next try, in milliseconds; undefined for no further try.
 *
 * A read is retried after 429, 5xx, a timeout or a broken connection. A write is retried only if the server has not
 * begun to process it: 429, 503 with `Retry-After`, connection refused. The wait is exponential backoff with full
 * jitter, plus `Retry-After` if sent. A server that asks for more than 30 s is not tried again: a sweep cannot wait
 * that long.
 */
export function retryDelayMs(error: KubernetesError, { method, retries, random }: Attempt): number | undefined {
  if (retries >= MAX_RETRIES || !mayRepeat(error, method === 'GET')) return undefined;
  const retryAfterMs = error.retryAfterMs ?? 0;
  if (retryAfterMs > MAX_RETRY_AFTER_MS) return undefined;
  return retryAfterMs + random * Math.min(MAX_BACKOFF_MS, BASE_MS * 2 ** retries);
}

function mayRepeat(error: KubernetesError, read: boolean): boolean {
  if (error.kind === 'aborted' || error.kind === 'too-large') return false;
  if (error.status === 429) return true;
  if (read) {
    return (error.status ?? 0) >= 500 || error.kind === 'timeout' || PASSING_FAILURES.has(error.code ?? '');
  }
  return (error.status === 503 && error.retryAfterMs !== undefined) || error.code === 'ECONNREFUSED';
}

/**
 * `Retry-After` of RFC 9110 §10.2.3, in milliseconds from now: delay-seconds or an HTTP date. A past date is 0.
 *
 * @param now milliseconds since the epoch
 * @returns undefined if the header is absent or invalid
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = parseHttpDate(header);
  return date === undefined ? undefined : Math.max(0, date - now);
}
