/** Hints of one cluster due in the same interval are one hint. Milliseconds. */
const BUCKET_MS = 3_000;

/**
 * When a new request may be judged, at the end of an interval of three seconds: all hints until then ask for one sweep.
 *
 * @param now milliseconds since the epoch
 * @param minAgeSeconds the youngest age at which a request is judged
 * @returns milliseconds since the epoch
 */
export function hintDue(now: number, minAgeSeconds: number): number {
  return Math.ceil((now + minAgeSeconds * 1_000) / BUCKET_MS) * BUCKET_MS;
}
