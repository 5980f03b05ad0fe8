import type { ExpiredServerOfCluster } from '../config/fleet.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { ExpiredServer } from '../contracts/order.ts';

/** One that ends later is not used yet: what is open for long is forgotten. Milliseconds. */
export const MAX_EXPIRED_SERVER_MS = 7 * 24 * 60 * 60_000;

/**
 * What the expired certificate of the API server of a cluster has to prove; undefined where an expired one is refused, as ever: the cluster has no entry, or it is over. Pure.
 *
 * @param entries `recovery` of fleet.yaml
 * @param audit the newest one: a certificate that ended before the first of those it saw has been replaced
 * @param now milliseconds since the epoch
 */
export function expiredServerOf(
  entries: readonly ExpiredServerOfCluster[],
  id: string,
  audit: Pick<AuditSummary, 'ends'> | undefined,
  now: number,
): ExpiredServer | undefined {
  const server = entries.find(({ cluster, until }) => cluster === id && isOpen(Date.parse(until) - now))?.server;
  // Machines have certificates of different days, and any of them may answer: the first end of them counts, not the last.
  const seen = audit?.ends.find(({ what }) => what === 'kube-apiserver')?.notAfter;
  if (server?.pin !== 'authority' || seen === undefined) return server;
  return { ...server, replacedBefore: Date.parse(seen) };
}

function isOpen(leftMs: number): boolean {
  return leftMs > 0 && leftMs <= MAX_EXPIRED_SERVER_MS;
}
