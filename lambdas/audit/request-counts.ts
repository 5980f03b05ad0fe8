import type { RequestsObservation } from '../contracts/observation.ts';
import { printable } from '../printable.ts';
import type { CountedRequest } from '../resources/signing-request.ts';
import { HOUR_MS } from '../time.ts';

/** Groups in the result, chosen by count, and as many by age. */
const MOST = 100;
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

interface Group extends Pick<CountedRequest, 'signer' | 'requester' | 'state'> {
  readonly count: number;
  readonly lastHour: number;
  readonly oldest: number;
  /** The newest first; one at least. */
  readonly examples: readonly Pick<CountedRequest, 'name' | 'createdAt' | 'message'>[];
}

/**
 * Counts requests by signer, requester and state in bounded memory, however many there are. The result has the largest
 * and the oldest groups, and the rest of each signer and state together.
 *
 * @param now milliseconds since the epoch
 */
export function countRequests(now: number) {
  const groups = new Map<string, Group>();
  const signers = new Set<string>();
  return {
    add({ name, signer, requester, state, createdAt, message }: Omit<CountedRequest, 'certificate' | 'ofNodes'>): void {
      const of = signers.has(signer) || signers.size < MAX_SIGNERS ? signer : ALL_OTHERS;
      signers.add(of);
      const by = groups.size < MAX_COUNTED || groups.has(`${state} ${of} ${requester}`) ? requester : ALL_OTHERS;
      merge(groups, `${state} ${of} ${by}`, {
        signer: printable(of, MAX_TEXT),
        requester: printable(by, MAX_TEXT),
        state,
        count: 1,
        lastHour: now - createdAt <= HOUR_MS ? 1 : 0,
        oldest: createdAt,
        examples: [{ name: printable(name, MAX_TEXT), createdAt, message: message && printable(message) }],
      });
    },
    observations(observedAt: string): readonly RequestsObservation[] {
      return bounded([...groups.values()]).map(({ oldest, examples, ...group }) => ({
        kind: 'requests',
        source: 'signing-requests',
        observedAt,
        ...group,
        oldestAt: new Date(oldest).toISOString(),
        newestAt: new Date(examples[0]!.createdAt).toISOString(),
        examples: examples.map(({ name }) => name),
        message: examples[0]!.message,
      }));
    },
  };
}

function merge(groups: Map<string, Group>, key: string, one: Group): void {
  const same = groups.get(key);
  if (same === undefined) groups.set(key, one);
  else
    groups.set(key, {
      ...one,
      count: same.count + one.count,
      lastHour: same.lastHour + one.lastHour,
      oldest: Math.min(same.oldest, one.oldest),
      examples: [...same.examples, ...one.examples].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, EXAMPLES),
    });
}

function bounded(groups: readonly Group[]): readonly Group[] {
  const byCount = groups.filter(({ requester }) => requester !== ALL_OTHERS).toSorted((a, b) => b.count - a.count);
  // An issued request waits for nothing, however old it is.
  const issuedLast = (a: Group, b: Group) => Number(a.state === 'issued') - Number(b.state === 'issued');
  const byAge = byCount.toSorted((a, b) => issuedLast(a, b) || a.oldest - b.oldest);
  const chosen = new Set([...byCount.slice(0, MOST), ...byAge.slice(0, MOST)]);
  const rest = new Map<string, Group>();
  for (const one of groups)
    if (!chosen.has(one)) merge(rest, `${one.state} ${one.signer}`, { ...one, requester: ALL_OTHERS });
  return [...byCount.filter((one) => chosen.has(one)), ...rest.values()];
}
