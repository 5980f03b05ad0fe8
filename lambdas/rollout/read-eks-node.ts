import { printable } from '../printable.ts';
import type { NodeKind, ObservedEksNode } from '../resources/eks.ts';
import { text } from '../resources/fields.ts';
import { isDeleting, nameAt, timeAt } from '../resources/values.ts';

const MAX_LABEL = 63;

/**
 * Values of `eks.amazonaws.com/compute-type`. Source: Amazon EKS user guide, on Fargate, EKS Auto Mode and hybrid nodes. A kubelet may write these labels itself, and
 * `eks.amazonaws.com/nodegroup`: with that it can hide its own machine, or make another group of the cluster due, which is then updated early, if its owner opted in
 * and in its window.
 */
const KINDS: ReadonlyMap<unknown, NodeKind> = new Map([
  ['auto', 'auto-mode'],
  ['hybrid', 'hybrid'],
]);

/** A Node of an EKS cluster, or what is wrong with it. Pure; a value for every input. */
export function readEksNode(node: unknown): ObservedEksNode | string {
  const name = nameAt(node, 'metadata', 'name');
  if (name === undefined) return 'metadata.name is missing or longer than a name';
  const createdAt = timeAt(node, 'metadata', 'creationTimestamp');
  if (createdAt === undefined) return `Node ${name}: metadata.creationTimestamp is missing or no time`;
  const nodegroup = label(node, 'eks.amazonaws.com/nodegroup');
  const kind = kindOf(node, name, nodegroup);
  return {
    name,
    createdAt,
    deleting: isDeleting(node),
    kind,
    nodegroup: nodegroup === undefined ? undefined : printable(nodegroup, 100),
  };
}

function kindOf(node: unknown, name: string, nodegroup: string | undefined): NodeKind {
  const type = label(node, 'eks.amazonaws.com/compute-type');
  // Only Fargate gives such names.
  if (type === 'fargate' && name.startsWith('fargate-')) return 'fargate';
  const kind = KINDS.get(type);
  if (kind !== undefined) return kind;
  if (nodegroup !== undefined) return 'managed';
  return label(node, 'karpenter.sh/nodepool') === undefined ? 'self-managed' : 'karpenter';
}

function label(node: unknown, name: string): string | undefined {
  const value = text(node, 'metadata', 'labels', name);
  return value !== undefined && value !== '' && value.length <= MAX_LABEL ? value : undefined;
}
