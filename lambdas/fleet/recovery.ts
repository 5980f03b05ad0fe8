import type { RecoveryEntry } from '../config/fleet.ts';
import type { ExpiredServer } from '../contracts/order.ts';
import { MAX_RECOVERY_MS, type Recovery } from '../recovery/recovery.ts';
import { DAY_MS } from '../time.ts';

/** The end of an entry without nodes may be this far away. */
export const MAX_EXPIRED_SERVER_MS = 7 * DAY_MS;

/** How far away the end of an entry may be. Milliseconds. */
export function longestOf({ nodes }: Pick<RecoveryEntry, 'nodes'>): number {
  return nodes === undefined ? MAX_EXPIRED_SERVER_MS : MAX_RECOVERY_MS;
}

/**
 * The entry of a cluster that is in force. One with a later end than allowed is not in force yet: long entries get
 * forgotten.
 */
function inForce(entries: readonly RecoveryEntry[], id: string, now: number): RecoveryEntry | undefined {
  return entries.find((entry) => {
    const leftMs = Date.parse(entry.until) - now;
    return entry.cluster === id && leftMs > 0 && leftMs <= longestOf(entry);
  });
}

/**
 * What an expired API server certificate must prove to be tolerated; undefined if none is tolerated. Pure.
 *
 * @param entries `recovery` of fleet.yaml
 * @param replacedBefore a certificate that expired before it has been replaced: the newest audit says so
 * @param now milliseconds since the epoch
 */
export function expiredServerOf(
  entries: readonly RecoveryEntry[],
  id: string,
  replacedBefore: number | undefined,
  now: number,
): ExpiredServer | undefined {
  const server = inForce(entries, id, now)?.server;
  return server?.pin === 'authority' && replacedBefore !== undefined ? { ...server, replacedBefore } : server;
}

/** The nodes of a cluster whose client certificates may be approved now; undefined if there are none. Pure. */
export function recoveryOf(entries: readonly RecoveryEntry[], id: string, now: number): Recovery | undefined {
  const { nodes, until = '', bootstrapGroups = [], by = 'fleet.yaml' } = inForce(entries, id, now) ?? {};
  return nodes === undefined ? undefined : { nodes, until, bootstrapGroups, by };
}
