import type { ExpiredServerOfCluster } from '../config/fleet.ts';
import type { ExpiredServer } from '../kubernetes/connection.ts';

/** One that ends later is not used yet: what is open for long is forgotten. Milliseconds. */
export const LONGEST_EXPIRED_SERVER_MS = 7 * 24 * 60 * 60_000;

/**
 * What the expired certificate of the API server of a cluster has to prove; undefined where an expired one is refused, as ever: the cluster has no entry, or it is over. Pure.
 *
 * @param entries `recovery` of fleet.yaml
 * @param now milliseconds since the epoch
 */
export function expiredServerOf(
  entries: readonly ExpiredServerOfCluster[],
  id: string,
  now: number,
): ExpiredServer | undefined {
  return entries.find(({ cluster, until }) => cluster === id && isOpen(Date.parse(until) - now))?.server;
}

function isOpen(leftMs: number): boolean {
  return leftMs > 0 && leftMs <= LONGEST_EXPIRED_SERVER_MS;
}
