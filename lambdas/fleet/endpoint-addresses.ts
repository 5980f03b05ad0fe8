import type { IndexedCluster } from '../contracts/fleet-index.ts';
import type { RegisteredCluster } from '../contracts/registry.ts';
import { MAX_ADDRESSES } from '../identifiers.ts';
import { DAY_MS } from '../time.ts';
import { compare } from '../words.ts';

const REMEMBERED_MS = 30 * DAY_MS;

/**
 * What the names of the API endpoint of a cluster resolved to in the last 30 days, the newest first, each with the last
 * time. Pure.
 */
export function endpointAddressesOf(
  { endpointAddresses = {} }: Pick<RegisteredCluster, 'endpointAddresses'>,
  indexed: Pick<IndexedCluster, 'endpoint'> | undefined,
  now: number,
): RegisteredCluster['endpointAddresses'] {
  const last = new Map(Object.entries(endpointAddresses));
  const { at = '', addresses = [] } = indexed?.endpoint ?? {};
  for (const address of addresses) if (compare(at, last.get(address) ?? '') > 0) last.set(address, at);
  const remembered = [...last]
    .filter(([, time]) => now - Date.parse(time) <= REMEMBERED_MS)
    .toSorted(([, a], [, b]) => compare(b, a))
    .slice(0, MAX_ADDRESSES);
  return remembered.length === 0 ? undefined : Object.fromEntries(remembered);
}
