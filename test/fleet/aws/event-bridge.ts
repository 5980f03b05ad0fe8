import { randomUUID } from 'node:crypto';
import { AwsFault } from './aws-fault.ts';
import { awsJson } from './json-protocol.ts';
import { type Place, placed, type Service } from './service.ts';

/** An event that the default bus took. */
export interface BusEvent {
  readonly source: string;
  readonly detailType: string;
  readonly detail: unknown;
}

export interface SimulatedEventBridge {
  /** What the default bus of a place took, the oldest first. */
  eventsOf(place: Place): readonly BusEvent[];
  /** The next so many entries are not taken, while the others of their request are. */
  refuseEntries(count: number): void;
}

interface PutEventsInput {
  readonly Entries?: readonly { readonly Source?: string; readonly DetailType?: string; readonly Detail?: string }[];
}

const MAX_ENTRIES = 10;
const MAX_ENTRY = 256 * 1024;
const protocol = awsJson<PutEventsInput>();

/**
 * PutEvents to the default bus. Rules are not simulated.
 *
 * Source: Amazon EventBridge API reference, PutEvents.
 */
export function createEventBridge(): SimulatedEventBridge & Service<PutEventsInput> {
  const buses = new Map<string, BusEvent[]>();
  let refused = 0;
  return {
    eventsOf: (place) => buses.get(placed(place)) ?? [],
    refuseEntries: (count) => void (refused = count),
    protocol,
    handle(action, { Entries: entries = [] }, caller) {
      if (action !== 'PutEvents') throw new AwsFault(400, 'UnknownOperationException', `Not simulated: ${action}`);
      if (entries.length === 0 || entries.length > MAX_ENTRIES)
        throw new AwsFault(400, 'ValidationException', 'Member must have length less than or equal to 10');
      const bus = buses.get(placed(caller)) ?? [];
      buses.set(placed(caller), bus);
      const answers = entries.map(({ Source: source = '', DetailType: detailType = '', Detail: text = '' }) => {
        if (refused > 0) {
          refused -= 1;
          return { ErrorCode: 'InternalFailure', ErrorMessage: 'Refused by the test' };
        }
        const detail = parsed(text);
        if (source === '' || detailType === '' || typeof detail !== 'object')
          return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
        if (Buffer.byteLength(source + detailType + text) > MAX_ENTRY)
          throw new AwsFault(400, 'ValidationException', 'Total size of the entries in the request is over the limit.');
        bus.push({ source, detailType, detail });
        return { EventId: randomUUID() };
      });
      const FailedEntryCount = answers.filter((answer) => 'ErrorCode' in answer).length;
      return protocol.answer({ FailedEntryCount, Entries: answers });
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
