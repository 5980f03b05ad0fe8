import type { V1Lease } from '@kubernetes/client-node';
import { field, raw } from '../resources/fields.ts';
import { isReady } from '../resources/node.ts';
import { isDeleting } from '../resources/values.ts';
import { instant } from '../time.ts';

/** What a cluster says of whether a node is alive, and so has a certificate that is valid. */
export type Liveness =
  | {
      readonly kind: 'known';
      /** The condition Ready is True. */
      readonly ready: boolean;
      /** Milliseconds since the epoch; undefined where the node has no Lease. */
      readonly leaseRenewedAt: number | undefined;
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly problem: string };

/** Here a kubelet renews the Lease of its Node. */
export const NODE_LEASE_NAMESPACE = 'kube-node-lease';

/** A kubelet renews its Lease every 10 seconds; this long ago it is not alive, whatever the clocks. */
export const LEASE_COUNTS_MS = 5 * 60_000;

/**
 * What Node and Lease of one name tell. Never throws.
 *
 * Source: core/v1 `NodeCondition`; coordination.k8s.io/v1 `LeaseSpec`, and Nodes documentation, "Heartbeats".
 *
 * @param node as the API has it; undefined where there is none
 * @param lease of the namespace kube-node-lease; undefined where there is none
 */
export function livenessOf(node: unknown, lease: unknown): Liveness {
  if (node === undefined || isDeleting(node)) return { kind: 'missing' };
  const ready = isReady(node);
  const renewTime = field(raw<V1Lease>(lease), 'spec', 'renewTime') ?? undefined;
  if (renewTime === undefined) return { kind: 'known', ready, leaseRenewedAt: undefined };
  const leaseRenewedAt = typeof renewTime === 'string' ? instant(renewTime) : undefined;
  if (leaseRenewedAt === undefined) return { kind: 'unreadable', problem: 'spec.renewTime of its Lease is no time' };
  return { kind: 'known', ready, leaseRenewedAt };
}
