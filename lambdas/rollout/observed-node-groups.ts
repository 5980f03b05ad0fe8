import type { Problem } from '../contracts/problem.ts';
import type { ObservedAuthority, ObservedEksCluster, ObservedEksNode, ObservedNodeGroup } from '../resources/eks.ts';
import { readNode, readNodeLabels } from '../resources/node.ts';

/*
 * All that is known of an EKS cluster when the next update of one of its node groups is planned. Plain data; times are milliseconds since the epoch; texts are
 * printable and bounded.
 */

export interface ObservedNodeGroups {
  readonly cluster: ObservedEksCluster;
  /** One, or two while the CA of the cluster is rotated. */
  readonly authorities: readonly ObservedAuthority[];
  readonly groups: readonly ObservedNodeGroup[];
  readonly nodes: readonly ObservedEksNode[];
  /** Failed reads. No update begins while there are any. */
  readonly unread: readonly Problem[];
}

/** A Node of an EKS cluster, or its problem. Never throws. */
export function readEksNode(object: unknown): ObservedEksNode | string {
  const node = readNode(object);
  if (node === undefined) return 'metadata.name is missing or longer than a name';
  const { name, createdAt, deleting } = node;
  if (createdAt === undefined) return `Node ${name}: metadata.creationTimestamp is missing or not a time`;
  const { kind, nodegroup } = readNodeLabels(object, name);
  return { name, createdAt, deleting, kind, nodegroup };
}
