import { machineAddresses } from '../allowed-addresses.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { handshake } from '../tls/handshake.ts';
import type { Handshake } from './served-certificates.ts';

/** A node that does not answer in this time waits for the next sweep. Milliseconds. */
const TIMEOUT_MS = 3_000;

/** Handshakes with the nodes of one cluster. Loopback is dialled only if its API server is there and may be. */
export function handshakeFrom(workload: Pick<KubernetesClient, 'server' | 'addresses'>): Handshake {
  const addresses = machineAddresses(workload);
  return (target, signal) => handshake(target, { signal, timeoutMs: TIMEOUT_MS, addresses });
}
