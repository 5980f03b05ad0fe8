import { printable } from '../printable.ts';
import { OPT_IN } from '../resources/annotations.ts';
import { text } from '../resources/fields.ts';
import { type KubeadmControlPlane, readControlPlane } from '../resources/kubeadm-control-plane.ts';
import { CLUSTER_LABEL, type Machine, readMachine } from '../resources/machine.ts';
import { nameAt, timeOf } from '../resources/values.ts';
import type { Sibling } from './observed.ts';

/** A control plane of any cluster of the management cluster. */
export interface SeenControlPlane {
  readonly namespace: string;
  /** Name of its Cluster: the label, or its own name. */
  readonly cluster: string;
  /** Absent if a write could not name it. */
  readonly read?: KubeadmControlPlane;
  /** Its own name, for people. */
  readonly name?: string;
}

/** Undefined without a namespace. Never throws. */
export function seenControlPlane(
  object: unknown,
  apiVersion: KubeadmControlPlane['apiVersion'],
): SeenControlPlane | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  if (namespace === undefined) return undefined;
  return {
    namespace,
    cluster: text(object, 'metadata', 'labels', CLUSTER_LABEL) ?? text(object, 'metadata', 'name') ?? '',
    read: readControlPlane(object, apiVersion),
    name: nameAt(object, 'metadata', 'name'),
  };
}

/** The kept part of another cluster's control plane machine: there may be thousands. */
export interface SiblingMachine extends Partial<Pick<Machine, 'createdAt' | 'deleting' | 'node'>> {
  /** Expiry of its certificates. */
  readonly end?: number;
}

/** An unreadable one counts as without a Node. Never throws. */
export function siblingMachine(object: unknown): SiblingMachine {
  const { createdAt, deleting, node, certificatesExpiryDate }: Partial<Machine> = readMachine(object) ?? {};
  return { createdAt, deleting, node, end: timeOf(certificatesExpiryDate) };
}

/**
 * Another control plane of the same management cluster; undefined without a name. An unreadable one counts as rolling.
 * Annotations that claim so do not count: its owner writes them, and a rollout of certmarshal has the Lease. Pure.
 *
 * @param machines of its control plane
 * @param agreed its Cluster of EKS Anywhere is opted in
 */
export function siblingOf(
  { namespace, cluster, name, read }: SeenControlPlane,
  machines: readonly SiblingMachine[],
  agreed: boolean,
): Sibling | undefined {
  const called = cluster === '' ? name : printable(cluster, 253);
  if (called === undefined) return undefined;
  return {
    namespace,
    cluster: called,
    rolling: read === undefined || rolls(read, machines),
    optedIn: agreed || read === undefined || read.mode === OPT_IN,
    soonestEnd: machines.reduce<number | undefined>(
      (soonest, { end }) => (end === undefined ? soonest : Math.min(soonest ?? end, end)),
      undefined,
    ),
  };
}

function rolls(controlPlane: KubeadmControlPlane, machines: readonly SiblingMachine[]): boolean {
  const { conditions, replicas, rolloutAfter, remediating } = controlPlane;
  if (conditions.RollingOut.status === 'True' || conditions.Remediating.status === 'True') return true;
  if (remediating || machines.length > replicas) return true;
  return machines.some(({ createdAt, deleting, node }) => {
    const old = rolloutAfter !== undefined && (createdAt === undefined || createdAt < rolloutAfter);
    return old || deleting === true || node === undefined;
  });
}
