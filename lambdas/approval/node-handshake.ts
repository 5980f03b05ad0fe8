import { machineAddresses } from '../allowed-addresses.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { handshake } from '../tls/handshake.ts';
import type { Handshake } from './served-certificates.ts';

/** A node that does not answer in this time is left for the next sweep. */
const TIMEOUT_MS = 3_000;

/** Handshakes with the nodes of one cluster: they are on loopback only where its API server may be, and is. */
export function handshakeFrom(workload: Pick<KubernetesClient, 'server' | 'addresses'>): Handshake {
  const addresses = machineAddresses(workload);
  return (target, signal) => handshake(target, { signal, timeoutMs: TIMEOUT_MS, addresses });
}
