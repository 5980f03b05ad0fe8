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

type Example = Pick<CountedRequest, 'name' | 'createdAt' | 'message'>;

interface Group extends Pick<CountedRequest, 'signer' | 'requester' | 'state'> {
  count: number;
  lastHour: number;
  oldest: number;
  /** The newest first; one at least. */
  examples: readonly Example[];
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
      const message = request.message && printable(request.message);
      group.examples = newestOf([...group.examples, { name: request.name, createdAt, message }]);
    },
    observations(observedAt) {
      const { kept, rest } = divide([...groups.values()]);
      return [...kept, ...fold(rest)].map(({ oldest, examples, ...group }) => ({
        kind: 'requests',
        source: 'signing-requests',
        observedAt,
        ...group,
        oldestAt: new Date(oldest).toISOString(),
        newestAt: new Date(examples[0]!.createdAt).toISOString(),
        examples: examples.map(({ name }) => printable(name, MAX_TEXT)),
        message: examples[0]!.message,
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
  const all = groups.map((group) => ({ ...group, requester: ALL_OTHERS }));
  return [...Map.groupBy(all, ({ signer, state }) => `${state} ${signer}`).values()].map((same) =>
    same.reduce((sum, { count, lastHour, oldest, examples }) => ({
      ...sum,
      count: sum.count + count,
      lastHour: sum.lastHour + lastHour,
      oldest: Math.min(sum.oldest, oldest),
      examples: newestOf([...sum.examples, ...examples]),
    })),
  );
}

function newestOf(examples: readonly Example[]): readonly Example[] {
  return examples.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, EXAMPLES);
}
