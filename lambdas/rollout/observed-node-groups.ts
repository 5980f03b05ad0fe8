import type { Problem } from '../contracts/problem.ts';
import type { ObservedAuthority, ObservedEksCluster, ObservedEksNode, ObservedNodeGroup } from '../resources/eks.ts';

/*
 * All that is known of an EKS cluster when the next update of one of its node groups is planned. Plain data; times are milliseconds since the epoch; texts are
 * printable and bounded.
 */

export interface ObservedNodeGroups {
  readonly cluster: ObservedEksCluster;
  /** One, or two while the authority of the cluster is rotated. */
  readonly authorities: readonly ObservedAuthority[];
  readonly groups: readonly ObservedNodeGroup[];
  readonly nodes: readonly ObservedEksNode[];
  /** What could not be read. No update begins while anything is in here. */
  readonly unread: readonly Problem[];
}
