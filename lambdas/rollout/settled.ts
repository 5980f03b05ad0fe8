import type { ObservedRollout } from './observed.ts';
import type { RolloutWrite } from './step.ts';

/**
 * Whether nothing moves at the control plane, as far as Cluster API itself has seen: it rolls nothing out, and has as many machines as it is to have, none of which
 * goes or is still coming. Pure.
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

/** Whether nothing will move once this is written, either: a control plane that is no longer paused rolls when its etcd has other addresses. Pure. */
export function endsSettled(write: RolloutWrite, observed: ObservedRollout): boolean {
  return write.kind === 'abort' && !write.unpause && isSettled(observed);
}
