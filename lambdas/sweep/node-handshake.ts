import { machineAddresses } from '../probe/allowed-addresses.ts';
import { handshake } from '../probe/handshake.ts';
import type { Handshake } from './renewal-evidence.ts';

/** A node that does not answer in this time is left for the next sweep. */
const TIMEOUT_MS = 3_000;

/**
 * Handshakes with the nodes of one cluster.
 *
 * @param endpoint host of its API server: nodes are on loopback only where that is too
 */
export function handshakeFrom(endpoint: string): Handshake {
  const addresses = machineAddresses(endpoint);
  return (target, signal) => handshake(target, { signal, timeoutMs: TIMEOUT_MS, addresses });
}
