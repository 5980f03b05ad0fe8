/**
 * A window in which client certificates of control plane kubelets may be approved, because the cluster slept through their expiry. Somebody opened it on purpose;
 * it closes itself.
 */
export interface RecoveryWindow {
  /** 26 characters or fewer of `[a-z0-9-]`. */
  readonly id: string;
  /** Of the cluster in the fleet. */
  readonly cluster: string;
  /** Names of Nodes of the control plane. 1 to 9. */
  readonly nodes: readonly string[];
  /** RFC 3339. At most an hour between the two. */
  readonly openedAt: string;
  readonly until: string;
  /** ARN or user name of who opened it, for the record. */
  readonly by: string;
  /** For each node. 1 to 5. */
  readonly approvals: number;
  /** Groups that a bootstrapper has beside `system:bootstrappers` and `system:authenticated`: exactly these. */
  readonly bootstrapGroups: readonly string[];
  /** Ids of windows of this cluster that somebody closed before their end: what they gave is nothing to this one. At most 8. @default none */
  readonly replaces?: readonly string[];
}

export const LONGEST_WINDOW_MS = 60 * 60_000;
export const MOST_NODES = 9;
export const MOST_APPROVALS = 5;
export const MOST_REPLACED = 8;
export const DEFAULT_APPROVALS = 2;
/** Source: kubeadm, `DefaultKubeadmNodeTokenGroup`. */
export const DEFAULT_BOOTSTRAP_GROUPS = ['system:bootstrappers:kubeadm:default-node-token'] as const;
