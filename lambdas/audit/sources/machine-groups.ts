import type { MemberObservation, Observation } from '../../contracts/observation.ts';
import { type ListedKindId, listKind } from '../../kubernetes/list.ts';
import { PAUSED_ANNOTATION } from '../../resources/annotations.ts';
import { field, text } from '../../resources/fields.ts';
import { isPaused, rolloutBeforeDays } from '../../resources/kubeadm-control-plane.ts';
import { annotation, isDeleting, smallCountOf } from '../../resources/values.ts';
import { timestamp } from '../../time.ts';
import type { AuditSource } from '../audit-source.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/** A cluster has one. */
const MAX_GROUPS = 10;

/**
 * The KubeadmControlPlane: the wanted number of control plane machines, and whether it replaces them automatically in
 * time.
 */
export const kubeadmControlPlane = machineGroups({
  id: 'kubeadm-control-plane',
  listed: 'kubeadmcontrolplanes',
  kind: 'KubeadmControlPlane',
  role: 'control-plane',
  optional: { lacking: 'KubeadmControlPlane' },
  isOf: () => true,
  // The webhook of Cluster API defaults it to 1.
  wanted: (plane) => field(plane, 'spec', 'replicas') ?? 1,
  isPaused,
  rolloutBeforeDays,
});

/**
 * The EtcdadmCluster of an EKS Anywhere cluster with external etcd: the wanted number of etcd machines. Most clusters
 * have none.
 */
export const etcdadmCluster = machineGroups({
  id: 'etcdadm-cluster',
  listed: 'etcdadmclusters',
  kind: 'EtcdadmCluster',
  role: 'etcd',
  optional: 'always',
  isOf: (etcd, cluster) => text(etcd, 'metadata', 'name') === `${cluster}-etcd`,
  wanted: (etcd) => field(etcd, 'spec', 'replicas'),
  isPaused: (etcd) => annotation(etcd, PAUSED_ANNOTATION) !== undefined,
  rolloutBeforeDays: () => undefined,
});

interface GroupKind extends Pick<AuditSource, 'optional'> {
  readonly id: 'kubeadm-control-plane' | 'etcdadm-cluster';
  readonly listed: ListedKindId;
  readonly kind: string;
  readonly role: MemberObservation['role'];
  readonly isOf: (object: unknown, cluster: string) => boolean;
  readonly wanted: (object: unknown) => unknown;
  readonly isPaused: (object: unknown) => boolean;
  readonly rolloutBeforeDays: (object: unknown) => number | undefined;
}

/** A source of objects that manage machines of a cluster. */
function machineGroups({ id, listed, kind, role, optional, ...group }: GroupKind): AuditSource {
  return {
    id,
    stage: 'second',
    deadlineMs: 10_000,
    optional,
    off: ({ management }) => (management === undefined ? false : undefined),
    async observe({ target: { management, cluster, machinesNamespace: namespace }, now, signal }) {
      if (management === undefined) return { observations: [], count: 0 };
      const origin = { source: id, observedAt: timestamp(now()) };
      const observations: Observation[] = [];
      const objects = listKind(management, listed, { clusterName: cluster.name, namespace, signal });
      const reading = await readList(objects, (object) => {
        if (observations.length === MAX_GROUPS) return 'full';
        if (!group.isOf(object, cluster.name) || isDeleting(object)) return 'more';
        const name = `${kind} ${shownName(object)}`;
        const wanted = smallCountOf(group.wanted(object));
        observations.push(
          wanted === undefined
            ? { kind: 'unread', ...origin, where: name, ...NO_COUNT }
            : {
                kind: 'group',
                ...origin,
                role,
                name,
                wanted,
                rolloutBeforeDays: group.rolloutBeforeDays(object),
                paused: group.isPaused(object) ? true : undefined,
              },
        );
        return 'more';
      });
      return { observations: [...observations, ...cutShort(origin, reading)], count: reading.count };
    },
  };
}

const NO_COUNT = {
  problem: 'malformed',
  message: 'its spec.replicas is not a number of machines',
  remedy: 'Check that this is a management cluster: its API server accepts only a number.',
};
