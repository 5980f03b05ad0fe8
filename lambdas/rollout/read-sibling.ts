import { printable } from '../printable.ts';
import { field, text } from '../resources/fields.ts';
import { annotation, isDeleting, nameAt, timeAt } from '../resources/values.ts';
import { OPT_IN, OPT_IN_ANNOTATION } from './annotations.ts';
import type { ObservedControlPlane, Sibling } from './observed.ts';
import { readControlPlane } from './read-control-plane.ts';

/**
 * Another control plane of the same management cluster, from its KubeadmControlPlane and the Machines that are its own; undefined when it has no name. What cannot
 * be read counts as rolling. Annotations that say so do not count: its owner writes them, and a rollout of certmarshal has the Lease. Pure; never throws.
 *
 * @param machines of its control plane
 * @param eksAnywhere its Cluster of EKS Anywhere, where there is one
 */
export function readSibling(
  object: unknown,
  apiVersion: ObservedControlPlane['apiVersion'],
  machines: readonly unknown[],
  eksAnywhere?: unknown,
): Sibling | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const label = text(object, 'metadata', 'labels', 'cluster.x-k8s.io/cluster-name');
  const name = label === undefined || label === '' ? nameAt(object, 'metadata', 'name') : printable(label, 253);
  if (namespace === undefined || name === undefined) return undefined;
  const read = readControlPlane(object, apiVersion);
  const modes = [annotation(object, OPT_IN_ANNOTATION), annotation(eksAnywhere, OPT_IN_ANNOTATION)];
  const soonestEnd = machines.reduce<number | undefined>((soonest, machine) => {
    const end = timeAt(machine, 'status', 'certificatesExpiryDate');
    return end === undefined ? soonest : Math.min(soonest ?? end, end);
  }, undefined);
  return {
    namespace,
    cluster: name,
    rolling: read === undefined || rolls(read, machines),
    optedIn: modes.includes(OPT_IN),
    soonestEnd,
  };
}

function rolls(controlPlane: ObservedControlPlane, machines: readonly unknown[]): boolean {
  const { conditions, replicas, rolloutAfter } = controlPlane;
  if (conditions.RollingOut.status === 'True' || conditions.Remediating.status === 'True') return true;
  if (controlPlane.remediating || machines.length > replicas) return true;
  return machines.some((machine) => {
    const createdAt = timeAt(machine, 'metadata', 'creationTimestamp');
    const old = rolloutAfter !== undefined && (createdAt === undefined || createdAt < rolloutAfter);
    return old || isDeleting(machine) || field(machine, 'status', 'nodeRef') == null;
  });
}
