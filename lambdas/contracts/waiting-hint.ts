import * as z from 'zod/mini';
import { type Contract, type Reading, readJson } from './contract.ts';
import { ClusterId, Flag } from './values.ts';

/** Bytes. */
const MAX_MESSAGE_SIZE = 2_000;

/** A cluster that is to be swept at a time. Waits in a queue until then. */
const WaitingHint = z.object({
  /** Of the cluster. */
  id: ClusterId,
  /** Milliseconds since the epoch; the same for all hints of one interval. */
  due: z.int(),
  /** From a webhook, which does not know at which age the requests of the cluster are judged: that is still to be waited for. */
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
