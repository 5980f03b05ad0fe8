import type { SimulatedApi } from './api.ts';
import { type Background, inBackground } from './background.ts';
import { askFor, type SimulatedNode } from './kubelet.ts';
import type { ServingNames } from './serving-request.ts';

/** What a compromised node may try: names that are not its own, in requests that are otherwise faultless. */
export const HOSTILE_CLAIMS = {
  /** To answer for a neighbour where it is reached by address. */
  neighbourAddress: (node, neighbour) => ({ ...node, ipAddresses: [...node.ipAddresses, ...neighbour.ipAddresses] }),
  /** The same by name. */
  neighbourName: (node, neighbour) => ({ ...node, dnsNames: [...node.dnsNames, neighbour.name] }),
  /** To be taken for the API server by every pod. */
  apiService: (node) => ({ ...node, dnsNames: [...node.dnsNames, 'kubernetes.default.svc'] }),
  wildcard: (node) => ({ ...node, dnsNames: [...node.dnsNames, '*.cluster.local'] }),
  /** A workload's identity. Even the signer refuses this one. */
  uri: (node) => ({ ...node, uris: ['spiffe://cluster.local/ns/kube-system/sa/default'] }),
} as const satisfies Readonly<Record<string, (node: SimulatedNode, neighbour: SimulatedNode) => ServingNames>>;

export interface FloodOptions {
  readonly api: SimulatedApi;
  readonly node: SimulatedNode;
  /** Requests in all. */
  readonly count: number;
  /** Milliseconds of the fleet's time from one to the next. */
  readonly intervalMs: number;
}

/** A node that asks without waiting for an answer. Its requests are valid and for its own names, each with its own key. */
export function startFlood({ api, node, count, intervalMs }: FloodOptions): Background {
  return inBackground(async (signal) => {
    for (let sent = 0; sent < count; sent += 1) {
      if (sent > 0) await api.clock.sleep(intervalMs, signal);
      askFor(api, node.name, node);
    }
  });
}
