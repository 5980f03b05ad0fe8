import type { ObservedRollout } from './observed.ts';
import type { RolloutWrite } from './step.ts';

/**
 * Whether the control plane is at rest according to Cluster API: it rolls nothing out and has the desired number of
 * machines, none of them being created or deleted. Pure.
 */
export function isSettled({ controlPlane, machines }: ObservedRollout): boolean {
  if (controlPlane === undefined) return false;
  const { generation, observedGeneration, conditions, replicas, status } = controlPlane;
  return (
    observedGeneration === generation &&
    conditions.RollingOut.status !== 'True' &&
    conditions.RollingOut.status !== 'Unknown' &&
    status.replicas === replicas &&
    machines.length === replicas &&
    machines.every(({ deleting, node }) => !deleting && node !== undefined)
  );
}

/**
 * Whether it stays at rest after this write: an unpaused control plane rolls when its etcd has other addresses. Pure.
 */
export function endsSettled(write: RolloutWrite, observed: ObservedRollout): boolean {
  return write.kind === 'abort' && !write.unpause && isSettled(observed);
}
