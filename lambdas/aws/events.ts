import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { printable } from '../printable.ts';
import { callAws } from './call.ts';
import { AwsError } from './errors.ts';

/**
 * Most entries and bytes of one PutEvents. Source: EventBridge API Reference, PutEvents; the quota of a request is that
 * of an entry.
 */
const MAX_ENTRIES = 10;
const MAX_REQUEST = 256 * 1024;
const SOURCE = 'certmarshal';

/** One event for the default bus of the account and Region. */
export interface BusEntry {
  readonly detailType: string;
  /** Encoded as JSON. */
  readonly detail: object;
}

export interface UnsentEvents<T> {
  /** Those not accepted, in their order. */
  readonly unsent: readonly T[];
  /** The first failure. */
  readonly error?: AwsError;
}

/** Sends events. Tries all; failures are returned, not thrown. */
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

/** For each entry its failure; undefined if it was accepted. */
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
