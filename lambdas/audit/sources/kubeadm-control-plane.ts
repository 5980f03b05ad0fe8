import type { Observation } from '../../contracts/observation.ts';
import { listKind } from '../../kubernetes/list.ts';
import { field, list, text } from '../../resources/fields.ts';
import type { AuditSource } from '../audit-source.ts';
import { timestamp } from '../instant.ts';
import { isCount, noCount } from '../machine-count.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/** A cluster has one. */
const MOST_PLANES = 10;

/** Whatever its value is. Source: Cluster API, util/annotations. */
const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';

/** The KubeadmControlPlane: how many control plane machines there should be, and whether it replaces them in time by itself. */
export const kubeadmControlPlane: AuditSource = {
  id: 'kubeadm-control-plane',
  stage: 'second',
  deadlineMs: 10_000,
  optional: 'own-management',
  off: ({ management }) => (management === undefined ? false : undefined),
  async observe({ target: { management, cluster, machinesNamespace: namespace }, now, signal }) {
    if (management === undefined) return { observations: [], count: 0 };
    const told = { source: 'kubeadm-control-plane' as const, observedAt: timestamp(now()) };
    const observations: Observation[] = [];
    const planes = listKind(management, 'kubeadmcontrolplanes', { clusterName: cluster.name, namespace, signal });
    const reading = await readList(planes, (plane) => {
      if (observations.length === MOST_PLANES) return 'full';
      if (field(plane, 'metadata', 'deletionTimestamp') != null) return 'more';
      const name = `KubeadmControlPlane ${shownName(plane)}`;
      // The webhook of Cluster API makes it 1 where there is none.
      const wanted = field(plane, 'spec', 'replicas') ?? 1;
      const days = rolloutBeforeDays(plane);
      observations.push(
        isCount(wanted)
          ? {
              kind: 'group',
              ...told,
              role: 'control-plane',
              name,
              wanted,
              ...(days === undefined ? {} : { rolloutBeforeDays: days }),
              ...(isPaused(plane) ? { paused: true } : {}),
            }
          : noCount(name, told),
      );
      return 'more';
    });
    return { observations: [...observations, ...cutShort(told, reading)], count: reading.count };
  },
};

/** Of v1beta2, else of v1beta1. 0 and null say never. */
function rolloutBeforeDays(plane: unknown): number | undefined {
  const days =
    field(plane, 'spec', 'rollout', 'before', 'certificatesExpiryDays') ??
    field(plane, 'spec', 'rolloutBefore', 'certificatesExpiryDays');
  return isCount(days) && days > 0 ? days : undefined;
}

/** The condition (v1beta2, and in v1beta1 under status.v1beta2) also tells when the whole Cluster is paused. */
function isPaused(plane: unknown): boolean {
  if (field(plane, 'metadata', 'annotations', PAUSED_ANNOTATION) !== undefined) return true;
  const conditions = [...list(plane, 'status', 'conditions'), ...list(plane, 'status', 'v1beta2', 'conditions')];
  return conditions.some((condition) => text(condition, 'type') === 'Paused' && text(condition, 'status') === 'True');
}
