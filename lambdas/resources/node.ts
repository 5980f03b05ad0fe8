import type { V1Node } from '@kubernetes/client-node';
import { field, list, type Raw, raw, text } from './fields.ts';
import { type StatusAddresses, statusAddresses } from './status-addresses.ts';
import { isDeleting, nameAt, timeAt } from './values.ts';

const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** A Node. Its kubelet writes its addresses and most labels: they say where to connect, and prove nothing. */
export interface Node {
  readonly name: string;
  /** Its machine is at least as old. */
  readonly createdAt?: number;
  readonly deleting: boolean;
  readonly addresses: StatusAddresses;
}

/** The labels of a Node. Not read for approvals. */
export interface NodeLabels {
  readonly controlPlane: boolean;
  /** Of an EKS cluster: EKS replaces nodes of Auto Mode and Fargate automatically. Absent for all other nodes. */
  readonly kind?: NodeKind;
}

export type NodeKind = 'auto-mode' | 'fargate' | 'hybrid';

/**
 * Values of `eks.amazonaws.com/compute-type`. Source: Amazon EKS user guide, on Fargate, EKS Auto Mode and hybrid
 * nodes. A kubelet may write these labels itself, and thereby hide its own machine.
 */
const KINDS: ReadonlyMap<unknown, NodeKind> = new Map([
  ['auto', 'auto-mode'],
  ['hybrid', 'hybrid'],
]);

/** Undefined without a name, or with an impossibly long one. Never throws. */
export function readNode(object: unknown): Node | undefined {
  const node = raw<V1Node>(object);
  const name = nameAt(node, 'metadata', 'name');
  if (name === undefined) return undefined;
  return {
    name,
    createdAt: timeAt(node, 'metadata', 'creationTimestamp'),
    deleting: isDeleting(node),
    addresses: statusAddresses(node),
  };
}

/** Never throws. */
export function readNodeLabels(object: unknown, name: string): NodeLabels {
  const node = raw<V1Node>(object);
  return {
    controlPlane: CONTROL_PLANE.some((role) => field(node, 'metadata', 'labels', role) !== undefined),
    kind: kindOf(node, name),
  };
}

export function isReady(object: unknown): boolean {
  return list(raw<V1Node>(object), 'status', 'conditions').some(
    (condition) => text(condition, 'type') === 'Ready' && text(condition, 'status') === 'True',
  );
}

function kindOf(node: Raw<V1Node>, name: string): NodeKind | undefined {
  const type = text(node, 'metadata', 'labels', 'eks.amazonaws.com/compute-type');
  // Only Fargate uses such names.
  return type === 'fargate' && name.startsWith('fargate-') ? 'fargate' : KINDS.get(type);
}
