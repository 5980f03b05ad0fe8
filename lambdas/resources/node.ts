import type { V1Node } from '@kubernetes/client-node';
import { printable } from '../printable.ts';
import { field, list, type Raw, raw, text } from './fields.ts';
import { type StatusAddresses, statusAddresses } from './status-addresses.ts';
import { isDeleting, nameAt, timeAt } from './values.ts';

const MAX_LABEL = 63;
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
  /** Of an EKS cluster. */
  readonly kind: NodeKind;
  /** The label `eks.amazonaws.com/nodegroup`. */
  readonly nodegroup?: string;
}

/**
 * Who replaces a node:
 *
 * - `managed`: EKS, when its node group is updated.
 * - `auto-mode`, `fargate`: EKS, automatically.
 * - `hybrid`, `karpenter`, `self-managed`: its owner.
 */
export type NodeKind = 'managed' | 'auto-mode' | 'fargate' | 'hybrid' | 'karpenter' | 'self-managed';

/**
 * Values of `eks.amazonaws.com/compute-type`. Source: Amazon EKS user guide, on Fargate, EKS Auto Mode and hybrid
 * nodes. A kubelet may write these labels itself, and `eks.amazonaws.com/nodegroup`: it can thereby hide its own
 * machine, or make another group of the cluster due, which is then updated early, if its owner opted in and in its
 * window.
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
  const nodegroup = label(node, 'eks.amazonaws.com/nodegroup');
  return {
    controlPlane: CONTROL_PLANE.some((role) => field(node, 'metadata', 'labels', role) !== undefined),
    kind: kindOf(node, name, nodegroup),
    nodegroup: nodegroup === undefined ? undefined : printable(nodegroup, 100),
  };
}

/** The condition Ready is True. */
export function isReady(object: unknown): boolean {
  return list(raw<V1Node>(object), 'status', 'conditions').some(
    (condition) => text(condition, 'type') === 'Ready' && text(condition, 'status') === 'True',
  );
}

function kindOf(node: Raw<V1Node>, name: string, nodegroup: string | undefined): NodeKind {
  const type = label(node, 'eks.amazonaws.com/compute-type');
  // Only Fargate uses such names.
  if (type === 'fargate' && name.startsWith('fargate-')) return 'fargate';
  const kind = KINDS.get(type);
  if (kind !== undefined) return kind;
  if (nodegroup !== undefined) return 'managed';
  return label(node, 'karpenter.sh/nodepool') === undefined ? 'self-managed' : 'karpenter';
}

function label(node: Raw<V1Node>, name: string): string | undefined {
  const value = text(node, 'metadata', 'labels', name);
  return value !== undefined && value !== '' && value.length <= MAX_LABEL ? value : undefined;
}
