import type { Observation } from '../../contracts/observation.ts';
import { listKind } from '../../kubernetes/list.ts';
import { field, text } from '../../resources/fields.ts';
import type { AuditSource } from '../audit-source.ts';
import { timestamp } from '../instant.ts';
import { isCount, noCount } from '../machine-count.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

/** A cluster has one. */
const MOST_CLUSTERS = 10;

const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused';

/** The EtcdadmCluster of a cluster of EKS Anywhere with external etcd: how many etcd machines there should be. Most clusters have none. */
export const etcdadmCluster: AuditSource = {
  id: 'etcdadm-cluster',
  stage: 'second',
  deadlineMs: 10_000,
  optional: 'always',
  off: ({ management }) => (management === undefined ? false : undefined),
  async observe({ target: { management, cluster, machinesNamespace: namespace }, now, signal }) {
    if (management === undefined) return { observations: [], count: 0 };
    const told = { source: 'etcdadm-cluster' as const, observedAt: timestamp(now()) };
    const observations: Observation[] = [];
    const clusters = listKind(management, 'etcdadmclusters', { clusterName: cluster.name, namespace, signal });
    const reading = await readList(clusters, (etcd) => {
      if (observations.length === MOST_CLUSTERS) return 'full';
      if (text(etcd, 'metadata', 'name') !== `${cluster.name}-etcd`) return 'more';
      if (field(etcd, 'metadata', 'deletionTimestamp') != null) return 'more';
      const name = `EtcdadmCluster ${shownName(etcd)}`;
      const wanted = field(etcd, 'spec', 'replicas');
      const paused = field(etcd, 'metadata', 'annotations', PAUSED_ANNOTATION) !== undefined;
      observations.push(
        isCount(wanted)
          ? { kind: 'group', ...told, role: 'etcd', name, wanted, ...(paused ? { paused } : {}) }
          : noCount(name, told),
      );
      return 'more';
    });
    return { observations: [...observations, ...cutShort(told, reading)], count: reading.count };
  },
};
