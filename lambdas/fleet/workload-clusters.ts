import type { Fleet, ManagementCluster } from '../config/fleet.ts';
import type { Problem } from '../problem.ts';
import type { Access, KubeconfigAccess } from './access.ts';
import { isWanted } from './cluster-selection.ts';
import type { FoundCluster, SourceResult } from './discover.ts';
import type { FleetIndex, IndexedCluster } from './fleet-index.ts';
import type { WorkloadCluster } from './outcome.ts';
import { entryOf, present } from './shape.ts';
import { clusterApiSource } from './sources.ts';

/** Three times the interval at which they are looked for. */
const STALE_MS = 30 * 60_000;

/**
 * The workload clusters that the sweeps of the management clusters found: one source each. One whose clusters were not looked for yet has
 * no result. Pure.
 */
export function workloadClusters(
  fleet: Pick<Fleet, 'managementClusters' | 'clusters'>,
  index: FleetIndex | undefined,
): SourceResult[] {
  return fleet.managementClusters.flatMap((management) => {
    const swept = entryOf(index?.clusters, management.name);
    return swept === undefined ? [] : resultOf(management, swept, fleet);
  });
}

function resultOf(
  management: ManagementCluster,
  swept: IndexedCluster,
  fleet: Pick<Fleet, 'clusters'>,
): readonly SourceResult[] {
  const source = clusterApiSource(management.name);
  if (!swept.readable) return [{ source, ok: false, problem: unreadable(management.name) }];
  if (swept.workloadClusters === undefined) return [];
  const { readAt, clusters } = swept.workloadClusters;
  if (Date.parse(swept.sweptAt) - Date.parse(readAt) > STALE_MS)
    return [{ source, ok: false, problem: stale(management.name, readAt) }];
  const found = clusters
    // Its own Cluster object: it is swept as the management cluster that fleet.yaml lists.
    .filter(({ name }) => name !== management.name)
    .map((cluster) => foundCluster(management, cluster, clusters, fleet));
  return [{ source, ok: true, clusters: found }];
}

function foundCluster(
  management: ManagementCluster,
  cluster: WorkloadCluster,
  all: readonly WorkloadCluster[],
  fleet: Pick<Fleet, 'clusters'>,
): FoundCluster {
  const { namespace, name, serviceCidrs } = cluster;
  const id = `${management.name}/${namespace}/${name}`;
  if (!isWanted(management.workloadClusters, name, {}) || isListed(management, name, fleet))
    return { id, unwanted: true };
  const access = accessOf(management, cluster, all);
  if (access === 'none') return { id, problem: withoutCredentials(id, management, cluster) };
  if (access === 'ambiguous') return { id, problem: ambiguous(id, cluster) };
  return {
    id,
    target: {
      id,
      cluster: present({ name, provider: 'eks-anywhere' as const, serviceCidrs }),
      access,
      management: { access: kubeconfigOf(management), namespace },
      lane: management.lane,
    },
  };
}

/** fleet.yaml lists it by itself, as a cluster of this management cluster: it is not a second one. */
function isListed(management: ManagementCluster, name: string, fleet: Pick<Fleet, 'clusters'>): boolean {
  return fleet.clusters.some(
    (listed) => listed.name === name && listed.managementKubeconfigSecret === management.kubeconfigSecret,
  );
}

/** Secrets are named by the name of the cluster alone: of two with the same name nobody can say which one is meant. */
function accessOf(
  { workloadClusters: { kubeconfigSecrets, kubeconfigsFromManagementCluster } }: ManagementCluster,
  { namespace, name }: WorkloadCluster,
  all: readonly WorkloadCluster[],
): Access | 'none' | 'ambiguous' {
  const secret = entryOf(kubeconfigSecrets, name);
  if (secret === undefined) return kubeconfigsFromManagementCluster ? { kind: 'cluster-api', namespace } : 'none';
  return all.filter((other) => other.name === name).length > 1 ? 'ambiguous' : { kind: 'kubeconfig', secret };
}

function kubeconfigOf({ kubeconfigSecret: secret, authenticatorId }: ManagementCluster): KubeconfigAccess {
  return present({ kind: 'kubeconfig' as const, secret, authenticatorId });
}

function unreadable(name: string): Problem {
  return {
    kind: 'unreadable',
    object: clusterApiSource(name),
    message: `the newest sweep of management cluster ${name} could not read it`,
    remedy: `Do what the finding of cluster ${name} says; the workload clusters that are known are swept meanwhile.`,
  };
}

function stale(name: string, readAt: string): Problem {
  return {
    kind: 'stale',
    object: clusterApiSource(name),
    message: `its workload clusters could not be listed since ${readAt}`,
    remedy: `Let the identity in its kubeconfig list clusters.cluster.x-k8s.io; the finding of cluster ${name} says what failed.`,
  };
}

function withoutCredentials(id: string, management: ManagementCluster, { name }: WorkloadCluster): Problem {
  return {
    kind: 'credentials',
    object: `cluster ${id}`,
    message: 'fleet.yaml says nothing about how to enter it',
    remedy: `Run certmarshal credentials create --kubeconfig KUBECONFIG_OF_${name} --store secretsmanager:certmarshal/${name}, write the ARN it prints at managementClusters ${management.name}, workloadClusters.kubeconfigSecrets.${name} in fleet.yaml, and deploy; or write kubeconfigsFromManagementCluster: true there.`,
  };
}

function ambiguous(id: string, { name }: WorkloadCluster): Problem {
  return {
    kind: 'credentials',
    object: `cluster ${id}`,
    message: `more than one workload cluster is named ${name}, and kubeconfigSecrets does not say which one it means`,
    remedy: `List each of them under clusters in fleet.yaml with an id of its own, exclude ${name} from workloadClusters, and deploy.`,
  };
}
