import type { Fleet, ManagementCluster } from '../config/fleet.ts';
import type { FleetIndex, IndexedCluster } from '../contracts/fleet-index.ts';
import type { WorkloadCluster } from '../contracts/outcome.ts';
import type { Problem } from '../contracts/problem.ts';
import type { Registry } from '../contracts/registry.ts';
import type { Access, KubeconfigAccess, Target } from '../contracts/target.ts';
import { entryOf } from '../tables/keys.ts';
import { isWanted } from './cluster-selection.ts';
import type { FoundCluster, SourceResult } from './discover.ts';
import { clusterApiSource } from './sources.ts';
import { targetAudit } from './target-audit.ts';

/** Three times the interval at which they are read. */
const STALE_MS = 30 * 60_000;

/**
 * The workload clusters found by the sweeps of management clusters, one source each. A source that was not read yet has
 * no result. Only Clusters in the namespaces of `fleet.yaml` count: in others anyone may be allowed to create them.
 * Pure.
 *
 * @param previous knows which cluster had a name first; a secret named for it is given to no other cluster
 */
export function workloadClusters(
  fleet: Pick<Fleet, 'managementClusters' | 'clusters'>,
  index: FleetIndex | undefined,
  previous: Registry | undefined,
): SourceResult[] {
  return fleet.managementClusters.flatMap((management) => {
    const swept = entryOf(index?.clusters, management.name);
    return swept === undefined ? [] : resultOf(management, swept, fleet, previous);
  });
}

function resultOf(
  management: ManagementCluster,
  swept: IndexedCluster,
  fleet: Pick<Fleet, 'clusters'>,
  previous: Registry | undefined,
): readonly SourceResult[] {
  const source = clusterApiSource(management.name);
  if (!swept.readable) return [{ source, ok: false, problem: unreadable(management.name) }];
  if (swept.workloadClusters === undefined) return [];
  const { readAt, clusters, cut } = swept.workloadClusters;
  if (Date.parse(swept.sweptAt) - Date.parse(readAt) > STALE_MS)
    return [{ source, ok: false, problem: stale(management.name, readAt) }];
  // An absent one may exist all the same, also as a second cluster of a name.
  if (cut) return [{ source, ok: false, problem: cutProblem(management.name, clusters.length) }];
  const { namespaces } = management.workloadClusters;
  const { asked = [], others = [] } = Object.groupBy(clusters, ({ namespace }) =>
    namespaces.includes(namespace) ? 'asked' : 'others',
  );
  const found = asked
    .filter((cluster) => !isOwnCluster(management, cluster))
    .map((cluster) => foundCluster(management, cluster, { asked, fleet, previous }));
  // Found before fleet.yaml was restricted to fewer namespaces.
  const unwanted = others.map((cluster) => ({ id: idOf(management, cluster), unwanted: true as const }));
  return [{ source, ok: true, clusters: [...found, ...unwanted] }];
}

/** Its own Cluster is swept as the management cluster listed in fleet.yaml. */
function isOwnCluster({ name, namespace }: ManagementCluster, cluster: WorkloadCluster): boolean {
  return cluster.name === name && cluster.namespace === namespace;
}

function idOf(
  { name: management }: ManagementCluster,
  { namespace, name }: Pick<WorkloadCluster, 'namespace' | 'name'>,
): string {
  return `${management}/${namespace}/${name}`;
}

interface Known {
  /** Every Cluster in the selected namespaces. */
  readonly asked: readonly WorkloadCluster[];
  readonly fleet: Pick<Fleet, 'clusters'>;
  readonly previous: Registry | undefined;
}

function foundCluster(management: ManagementCluster, cluster: WorkloadCluster, known: Known): FoundCluster {
  const { name } = cluster;
  const id = idOf(management, cluster);
  if (!isAllowed(management, cluster, known.fleet)) return { id, unwanted: true };
  if (name === management.name) return { id, problem: namesake(id, management) };
  const access = accessOf(management, cluster, known);
  if (access === 'none') return { id, problem: withoutCredentials(id, management, cluster) };
  // The one swept before stays: otherwise creating a second cluster of the name would stop the first.
  if (access === 'ambiguous') return { id, unread: true, problem: ambiguous(id, cluster) };
  return { id, target: targetOf(management, cluster, access) };
}

function targetOf(
  management: ManagementCluster,
  { namespace, name, serviceCidrs }: WorkloadCluster,
  access: Access,
): Target {
  return {
    id: idOf(management, { namespace, name }),
    cluster: { name, provider: 'eks-anywhere' as const, serviceCidrs },
    access,
    management: { access: kubeconfigOf(management), namespace },
    eksAnywhereNamespace: entryOf(management.workloadClusters.eksAnywhereNamespaces, name),
    lane: management.lane,
    ...targetAudit(management),
  };
}

/**
 * The target that `fleet.yaml` allows for a workload cluster, whether the Cluster exists or not; undefined if it allows
 * none. Pure.
 *
 * @param id `management cluster/namespace/name`
 * @param serviceCidrs from the management cluster
 */
export function workloadTarget(
  fleet: Pick<Fleet, 'managementClusters' | 'clusters'>,
  id: string,
  serviceCidrs: WorkloadCluster['serviceCidrs'],
): Target | undefined {
  const [managementName, namespace = '', name = ''] = id.split('/');
  const management = fleet.managementClusters.find((candidate) => candidate.name === managementName);
  if (management === undefined || name === management.name || !isAllowed(management, { namespace, name }, fleet))
    return undefined;
  const access = namedAccess(management, { namespace, name });
  return access && targetOf(management, { namespace, name, serviceCidrs }, access);
}

function isAllowed(
  management: ManagementCluster,
  { namespace, name }: Pick<WorkloadCluster, 'namespace' | 'name'>,
  fleet: Pick<Fleet, 'clusters'>,
): boolean {
  const { workloadClusters: wanted } = management;
  return (
    wanted.namespaces.includes(namespace) &&
    isWanted(wanted, name, {}) &&
    !isListed(management, { namespace, name }, fleet)
  );
}

/** fleet.yaml lists it separately, as a cluster of this management cluster: it is not a second one. */
function isListed(
  { kubeconfigSecret }: ManagementCluster,
  { namespace, name }: Pick<WorkloadCluster, 'namespace' | 'name'>,
  { clusters }: Pick<Fleet, 'clusters'>,
): boolean {
  return clusters.some(
    (listed) =>
      listed.name === name && listed.namespace === namespace && listed.managementKubeconfigSecret === kubeconfigSecret,
  );
}

/** Secrets are named by cluster name only: with two clusters of a name it is unknown which one is meant. */
function accessOf(
  management: ManagementCluster,
  cluster: WorkloadCluster,
  { asked, previous }: Known,
): Access | 'none' | 'ambiguous' {
  const access = namedAccess(management, cluster);
  if (access?.kind !== 'kubeconfig') return access ?? 'none';
  const isTaken =
    asked.filter((other) => other.name === cluster.name).length > 1 || hasPredecessor(management, cluster, previous);
  return isTaken ? 'ambiguous' : access;
}

function namedAccess(
  { workloadClusters: { kubeconfigSecrets, kubeconfigsFromManagementCluster } }: ManagementCluster,
  { namespace, name }: Pick<WorkloadCluster, 'namespace' | 'name'>,
): Access | undefined {
  const secret = entryOf(kubeconfigSecrets, name);
  if (secret !== undefined) return { kind: 'kubeconfig', secret };
  return kubeconfigsFromManagementCluster ? { kind: 'cluster-api', namespace } : undefined;
}

/** Another cluster of this name used the secret and is still swept, up to an hour after it disappeared. */
function hasPredecessor(management: ManagementCluster, cluster: WorkloadCluster, previous: Registry | undefined) {
  const id = idOf(management, cluster);
  if (entryOf(previous?.clusters, id)?.target !== undefined) return false;
  return Object.values(previous?.clusters ?? {}).some(
    ({ source, target, ...other }) =>
      source === clusterApiSource(management.name) &&
      other.id !== id &&
      target?.cluster.name === cluster.name &&
      target.access.kind === 'kubeconfig',
  );
}

function kubeconfigOf({ kubeconfigSecret: secret, authenticatorId }: ManagementCluster): KubeconfigAccess {
  return { kind: 'kubeconfig' as const, secret, authenticatorId };
}

function unreadable(name: string): Problem {
  return {
    kind: 'unreadable',
    object: clusterApiSource(name),
    message: `the newest sweep of management cluster ${name} could not read it`,
    remedy: `Do what the finding of cluster ${name} says; known workload clusters are swept meanwhile.`,
  };
}

function stale(name: string, readAt: string): Problem {
  return {
    kind: 'stale',
    object: clusterApiSource(name),
    message: `its workload clusters have not been listed since ${readAt}`,
    remedy: `Let the identity in its kubeconfig list clusters.cluster.x-k8s.io; the finding of cluster ${name} says what failed.`,
  };
}

function cutProblem(name: string, sent: number): Problem {
  return {
    kind: 'cut',
    object: clusterApiSource(name),
    message: `it has more Clusters than fit in a message (${sent} do), so only known ones are swept`,
    remedy: `Delete Cluster objects that are not clusters, or write fewer namespaces at managementClusters ${name}, workloadClusters.namespaces in fleet.yaml; the finding of cluster ${name} says how many there are.`,
  };
}

function namesake(id: string, { name, namespace }: ManagementCluster): Problem {
  return {
    kind: 'repeated',
    object: `cluster ${id}`,
    message: `it has the name of its management cluster ${name}, whose own Cluster is in namespace ${namespace}`,
    remedy: `If it is the management cluster itself, write its namespace at managementClusters ${name} in fleet.yaml. Otherwise find out who made it; if it is a cluster of its own, list it under clusters in fleet.yaml with another id, exclude ${name} from workloadClusters, and deploy.`,
  };
}

function withoutCredentials(id: string, management: ManagementCluster, { name }: WorkloadCluster): Problem {
  return {
    kind: 'credentials',
    object: `cluster ${id}`,
    message: 'fleet.yaml says nothing about how to enter it',
    remedy: `Run certmarshal credentials create --kubeconfig KUBECONFIG_OF_${name} --workload-of ${management.name} --store secretsmanager:certmarshal/${name} --yes, write the line it prints (workloadClusters.kubeconfigSecrets.${name}) into fleet.yaml, and deploy; or write kubeconfigsFromManagementCluster: true there.`,
  };
}

function ambiguous(id: string, { name }: WorkloadCluster): Problem {
  return {
    kind: 'credentials',
    object: `cluster ${id}`,
    message: `more than one workload cluster is or was named ${name}, and kubeconfigSecrets does not say which one it means; one that was swept before still is`,
    remedy: `Find out who made the other one. If both are clusters, list each of them under clusters in fleet.yaml with an id of its own, exclude ${name} from workloadClusters, and deploy.`,
  };
}
