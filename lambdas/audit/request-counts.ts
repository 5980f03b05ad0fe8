import type { RequestsObservation } from '../contracts/observation.ts';
import { printable } from '../printable.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { HOUR_MS } from '../time.ts';

/** Groups of requests in the result. */
const MAX_GROUPS = 200;
/** Of these, chosen by count; the others by age. */
const MAX_BY_COUNT = 100;
/**
 * Groups while counting: two for each of 20,000 nodes. A requester cannot choose its name, so no single one exceeds
 * this.
 */
const MAX_COUNTED = 40_000;
/** A requester can choose the signer. */
const MAX_SIGNERS = 100;
const EXAMPLES = 3;
const MAX_TEXT = 253;

/** All others: no requester and no signer has this name. */
const ALL_OTHERS = '*';

interface Group extends Pick<CountedRequest, 'signer' | 'requester' | 'state' | 'message'> {
  count: number;
  lastHour: number;
  oldest: number;
  newest: number;
  message: string | undefined;
  /** The newest first. */
  examples: readonly { readonly name: string; readonly createdAt: number }[];
}

export interface RequestCounts {
  add(request: Omit<CountedRequest, 'certificate'>): void;
  /** The largest and the oldest groups, and the rest of each signer and state together. */
  observations(observedAt: string): readonly RequestsObservation[];
}

/**
 * Counts requests by signer, requester and state in bounded memory, however many there are.
 *
 * @param now milliseconds since the epoch
 */
export function countRequests(now: number): RequestCounts {
  const groups = new Map<string, Group>();
  const signers = new Set<string>();

  const groupOf = ({ signer, requester, state }: Pick<Group, 'signer' | 'requester' | 'state'>): Group => {
    const key = `${state} ${signer} ${requester}`;
    const known = groups.get(key);
    if (known !== undefined) return known;
    if (groups.size >= MAX_COUNTED && requester !== ALL_OTHERS)
      return groupOf({ signer, requester: ALL_OTHERS, state });
    const group: Group = {
      signer: printable(signer, MAX_TEXT),
      requester: printable(requester, MAX_TEXT),
      state,
      count: 0,
      lastHour: 0,
      oldest: Infinity,
      newest: -Infinity,
      message: undefined,
      examples: [],
    };
    groups.set(key, group);
    return group;
  };

  return {
    add(request) {
      const { createdAt, requester, state } = request;
      const known = signers.has(request.signer) || signers.size < MAX_SIGNERS;
      if (known) signers.add(request.signer);
      const group = groupOf({ signer: known ? request.signer : ALL_OTHERS, requester, state });
      group.count += 1;
      if (now - createdAt <= HOUR_MS) group.lastHour += 1;
      group.oldest = Math.min(group.oldest, createdAt);
      const isExample = group.examples.length < EXAMPLES || createdAt > (group.examples.at(-1)?.createdAt ?? 0);
      if (createdAt >= group.newest) {
        group.newest = createdAt;
        group.message = request.message === undefined ? undefined : printable(request.message);
      }
      if (isExample)
        group.examples = [...group.examples, { name: printable(request.name, MAX_TEXT), createdAt }]
          .toSorted((a, b) => b.createdAt - a.createdAt)
          .slice(0, EXAMPLES);
    },
    observations(observedAt) {
      const { kept, rest } = divide([...groups.values()]);
      return [...kept, ...fold(rest)].map(({ oldest, newest, message, examples, ...group }) => ({
        kind: 'requests',
        source: 'signing-requests',
        observedAt,
        ...group,
        oldestAt: new Date(oldest).toISOString(),
        newestAt: new Date(newest).toISOString(),
        examples: examples.map(({ name }) => name),
        ...(message === undefined ? {} : { message }),
      }));
    },
  };
}

function divide(groups: readonly Group[]): { readonly kept: readonly Group[]; readonly rest: readonly Group[] } {
  const unnamed = groups.filter(({ requester }) => requester === ALL_OTHERS);
  const byCount = groups.filter(({ requester }) => requester !== ALL_OTHERS).toSorted((a, b) => b.count - a.count);
  // An issued request waits for nothing, however old it is.
  const byAge = byCount
    .slice(MAX_BY_COUNT)
    .toSorted((a, b) => Number(a.state === 'issued') - Number(b.state === 'issued') || a.oldest - b.oldest);
  const others = MAX_GROUPS - MAX_BY_COUNT;
  return {
    kept: [...byCount.slice(0, MAX_BY_COUNT), ...byAge.slice(0, others)],
    rest: [...byAge.slice(others), ...unnamed],
  };
}

function fold(groups: readonly Group[]): readonly Group[] {
  return [...Map.groupBy(groups, ({ signer, state }) => `${state} ${signer}`).values()].map((same) => {
    const newestFirst = same.toSorted((a, b) => b.newest - a.newest);
    const [first] = newestFirst;
    return {
      signer: first?.signer ?? ALL_OTHERS,
      requester: ALL_OTHERS,
      state: first?.state ?? 'pending',
      count: same.reduce((sum, { count }) => sum + count, 0),
      lastHour: same.reduce((sum, { lastHour }) => sum + lastHour, 0),
      oldest: same.reduce((oldest, group) => Math.min(oldest, group.oldest), Infinity),
      newest: first?.newest ?? 0,
      message: first?.message,
      examples: newestFirst.flatMap(({ examples }) => examples.slice(0, 1)).slice(0, EXAMPLES),
    };
  });
}
