import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';

import { printable } from '../printable.ts';
import { callAws } from './call.ts';
import { AwsError } from './errors.ts';

/** Entries and bytes that PutEvents takes at once. Source: EventBridge API Reference, PutEvents; the quota of a request is that of an entry. */
const MAX_ENTRIES = 10;
const MAX_REQUEST = 256 * 1024;
const SOURCE = 'certmarshal';

/** One event for the default bus of the account and Region. */
export interface BusEntry {
  readonly detailType: string;
  /** Becomes JSON. */
  readonly detail: object;
}

export interface UnsentEvents<T> {
  /** Those that EventBridge did not take, in their order. */
  readonly unsent: readonly T[];
  /** Why; the first reason of them. */
  readonly error?: AwsError;
}

/** Sends events. All are tried, whatever becomes of the others; what failed is returned, not thrown. */
export type SendEvents = <T extends BusEntry>(entries: readonly T[], signal: AbortSignal) => Promise<UnsentEvents<T>>;

export function createEventSender(client = new EventBridgeClient()): SendEvents {
  return async <T extends BusEntry>(entries: readonly T[], signal: AbortSignal) => {
    const unsent: T[] = [];
    let error: AwsError | undefined;
    for (const batch of batchesOf(entries)) {
      try {
        const codes = await putBatch(client, batch, signal);
        unsent.push(...batch.filter((_, index) => codes[index] !== undefined));
        const code = codes.find((one) => one !== undefined);
        if (code !== undefined) error ??= refused(code);
      } catch (failure) {
        if (!(failure instanceof AwsError)) throw failure;
        unsent.push(...batch);
        error ??= failure;
      }
    }
    return { unsent, error };
  };
}

const OBJECT = 'events:PutEvents to the default bus';

function refused(code: string): AwsError {
  const problem = `some events were not accepted (${printable(code, 80)})`;
  return new AwsError({ kind: 'unavailable', object: OBJECT, problem, remedy: 'The next run sends them again.' });
}

/** Of each entry why it was not taken; undefined where it was. */
async function putBatch(
  client: EventBridgeClient,
  batch: readonly BusEntry[],
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  const command = new PutEventsCommand({
    Entries: batch.map(({ detailType, detail }) => ({
      Source: SOURCE,
      DetailType: detailType,
      Detail: JSON.stringify(detail),
    })),
  });
  const answer = await callAws({ object: OBJECT }, signal, (abortSignal) => client.send(command, { abortSignal }));
  if (answer.FailedEntryCount === 0) return batch.map(() => undefined);
  // In the order of the request.
  return batch.map((_, index) => {
    const { EventId, ErrorCode = 'not answered' } = answer.Entries?.[index] ?? {};
    return EventId === undefined ? ErrorCode : undefined;
  });
}

function batchesOf<T extends BusEntry>(entries: readonly T[]): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let room = 0;
  for (const entry of entries) {
    const size = Buffer.byteLength(JSON.stringify(entry.detail)) + entry.detailType.length + SOURCE.length;
    const last = batches.at(-1);
    if (last !== undefined && last.length < MAX_ENTRIES && size <= room) last.push(entry);
    else {
      batches.push([entry]);
      room = MAX_REQUEST;
    }
    room -= size;
  }
  return batches;
}
