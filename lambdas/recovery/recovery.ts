import { DAY_MS, HOUR_MS } from '../time.ts';

export const MAX_NODES = 9;
export const MAX_BOOTSTRAP_GROUPS = 8;
/** How far away the end of an entry of fleet.yaml with nodes may be, and that of a person at a keyboard. */
export const MAX_RECOVERY_MS = DAY_MS;
export const MAX_RECOVERY_AT_KEYBOARD_MS = HOUR_MS;
/** Source: kubeadm, `DefaultKubeadmNodeTokenGroup`. */
export const DEFAULT_BOOTSTRAP_GROUPS: readonly string[] = ['system:bootstrappers:kubeadm:default-node-token'];
/**
 * Source: Kubernetes, `BootstrapGroupPattern` (k8s.io/cluster-bootstrap/token/api). Bootstrap tokens have no other
 * groups.
 */
export const BOOTSTRAP_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/** Until then client certificates of these kubelets may be approved: the cluster was down when theirs expired. */
export interface Recovery {
  /** Names of Nodes of the control plane. */
  readonly nodes: readonly string[];
  /** RFC 3339. */
  readonly until: string;
  /** Groups of a bootstrapper besides `system:bootstrappers` and `system:authenticated`: exactly these. */
  readonly bootstrapGroups: readonly string[];
  /** Who says so: `fleet.yaml`, or a person at a keyboard. */
  readonly by: string;
}

/** Also if the end cannot be read. Pure. @param now milliseconds since the epoch */
export function isOver({ until }: Recovery, now: number): boolean {
  return !(now < Date.parse(until));
}
