import type { V1Lease } from '@kubernetes/client-node';
import { fail, type Outcome, pass } from '../approval/rules/rules.ts';
import { field, raw } from '../resources/fields.ts';
import { isReady } from '../resources/node.ts';
import { isDeleting } from '../resources/values.ts';
import { instant } from '../time.ts';

/** Namespace in which a kubelet renews the Lease of its Node. */
export const NODE_LEASE_NAMESPACE = 'kube-node-lease';

/** A kubelet renews its Lease every 10 seconds; an older renewal means that it is not alive, even with clock skew. */
const LEASE_COUNTS_MS = 5 * 60_000;

/**
 * Whether a node is asleep, judged by its Node and its Lease: a live one has a valid certificate. Never throws.
 *
 * Source: core/v1 `NodeCondition`; coordination.k8s.io/v1 `LeaseSpec`, and Nodes documentation, "Heartbeats".
 *
 * @param node from the API; undefined if missing
 * @param lease of the namespace kube-node-lease; undefined if missing
 * @param now milliseconds since the epoch
 */
export function asleep(node: unknown, lease: unknown, now: number): Outcome {
  if (node === undefined || isDeleting(node)) return fail('NodeMissing', 'there is no such Node');
  if (isReady(node)) return fail('StillValid', 'the Node is Ready');
  const renewTime = field(raw<V1Lease>(lease), 'spec', 'renewTime') ?? undefined;
  if (renewTime === undefined) return pass('not Ready, no Lease');
  const renewedAt = typeof renewTime === 'string' ? instant(renewTime) : undefined;
  if (renewedAt === undefined) return fail('NodeUnreadable', 'spec.renewTime of its Lease is not a time');
  return now - renewedAt < LEASE_COUNTS_MS
    ? fail('StillValid', `it renewed its Lease at ${new Date(renewedAt).toISOString()}`)
    : pass('not Ready, no Lease renewed in the last 5 minutes');
}
