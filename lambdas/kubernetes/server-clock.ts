import { parseHttpDate } from './http-date.ts';

/** The server's clock according to its newest answer. Every answer makes a new one. */
export interface ServerClock {
  /** The least it is ahead of ours, in milliseconds; negative if behind, 0 if they may be equal. */
  readonly skewMs: number;
}

/** Clocks with NTP differ by less than a second; a minute is more than an unsynchronized one loses in a week. */
const NOTABLE_SKEW_MS = 60_000;

/**
 * Reads the `Date` of an answer, which the server wrote in whole seconds between our sending and receiving: a
 * difference explained by that time is no skew.
 *
 * Source: RFC 9110 §6.6.1.
 *
 * @param sentAt milliseconds since the epoch by our clock, as `receivedAt`
 * @returns undefined if the header is absent or invalid
 */
export function serverClock(header: string | undefined, sentAt: number, receivedAt: number): ServerClock | undefined {
  const date = header === undefined ? undefined : parseHttpDate(header);
  if (date === undefined) return undefined;
  if (date > receivedAt) return { skewMs: date - receivedAt };
  const latest = date + 999;
  return { skewMs: latest < sentAt ? latest - sentAt : 0 };
}

/** "its clock is 10 min ahead of ours"; undefined for a negligible difference. */
export function describeSkew(clock: ServerClock | undefined): string | undefined {
  if (clock === undefined || Math.abs(clock.skewMs) <= NOTABLE_SKEW_MS) return undefined;
  const seconds = Math.round(Math.abs(clock.skewMs) / 1000);
  const length = seconds < 600 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `its clock is ${length} ${clock.skewMs > 0 ? 'ahead of' : 'behind'} ours`;
}

/** Which of the two is wrong. */
export const SKEW_REMEDY =
  'Compare both with the Date that curl -sI https://sts.amazonaws.com shows: a Lambda function has AWS time, so check NTP on the control plane first.';
