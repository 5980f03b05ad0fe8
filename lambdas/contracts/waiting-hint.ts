import * as z from 'zod/mini';
import { type Contract, type Reading, readJson } from './contract.ts';
import { ClusterId, Flag } from './values.ts';

/** Bytes. */
const MAX_MESSAGE_SIZE = 2_000;

/** A cluster to be swept at a time. Delayed in a queue until then. */
const WaitingHint = z.object({
  id: ClusterId,
  /** Milliseconds since the epoch; the same for all hints of one interval. */
  due: z.int(),
  /**
   * From a webhook, which does not know the minimum age of requests in the policies: the hint must still wait for it.
   */
  fresh: Flag,
});
export type WaitingHint = Contract<typeof WaitingHint>;

export function encodeWaitingHint({ id, due, fresh }: WaitingHint): string {
  return JSON.stringify({ id, due, fresh });
}

/** Reads what {@link encodeWaitingHint} makes. Never throws. */
export function decodeWaitingHint(body: string): Reading<WaitingHint> {
  return readJson(WaitingHint, body, MAX_MESSAGE_SIZE);
}
