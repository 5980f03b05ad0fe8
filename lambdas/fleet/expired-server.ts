import type { ExpiredServerOfCluster } from '../config/fleet.ts';
import type { AuditSummary } from '../contracts/audit-summary.ts';
import type { ExpiredServer } from '../contracts/order.ts';

/** An entry with a later end is not used yet: long entries get forgotten. Milliseconds. */
export const MAX_EXPIRED_SERVER_MS = 7 * 24 * 60 * 60_000;

/**
 * What an expired API server certificate must prove to be tolerated; undefined if none is tolerated, because the
 * cluster has no entry or the entry is over. Pure.
 *
 * @param entries `recovery` of fleet.yaml
 * @param audit the newest one: a certificate that expired before the first one it saw has been replaced
 * @param now milliseconds since the epoch
 */
export function expiredServerOf(
  entries: readonly ExpiredServerOfCluster[],
  id: string,
  audit: Pick<AuditSummary, 'ends'> | undefined,
  now: number,
): ExpiredServer | undefined {
  const server = entries.find(({ cluster, until }) => cluster === id && isOpen(Date.parse(until) - now))?.server;
  // The certificates of machines expire on different days, and any machine may answer: the first expiry counts.
  const seen = audit?.ends.find(({ what }) => what === 'kube-apiserver')?.notAfter;
  if (server?.pin !== 'authority' || seen === undefined) return server;
  return { ...server, replacedBefore: Date.parse(seen) };
}

function isOpen(leftMs: number): boolean {
  return leftMs > 0 && leftMs <= MAX_EXPIRED_SERVER_MS;
}
