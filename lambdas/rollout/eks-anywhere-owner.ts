import type { Problem } from '../contracts/problem.ts';
import { printable } from '../printable.ts';
import { OPT_IN } from '../resources/annotations.ts';
import { compare, firstOf } from '../words.ts';
import type { ObservedEksAnywhere } from './observed.ts';

/**
 * The namespace in which EKS Anywhere puts the Cluster API objects of every cluster, under the name of its own Cluster.
 * Source: EKS Anywhere, pkg/controller/clusterapi.go, `CapiClusterObjectKey`.
 */
export const EKS_ANYWHERE_NAMESPACE = 'eksa-system';

/** As observed, before upgrades are. */
export type SeenEksAnywhere = Omit<ObservedEksAnywhere, 'controlPlaneUpgrade'>;

export type OwnersCluster<T> =
  | { readonly kind: 'one'; readonly cluster: T }
  | { readonly kind: 'none'; readonly problem?: Problem }
  /** Several have the name, and fleet.yaml names no namespace. */
  | { readonly kind: 'contested'; readonly clusters: readonly T[]; readonly problem: Problem };

/**
 * The one in the namespace that fleet.yaml names, else the only one of the name. Labels are not used: of all providers
 * only Snow writes `cluster.anywhere.eks.amazonaws.com/cluster-name`. Pure.
 *
 * @param found all with the name of the cluster
 * @param named `eksAnywhereNamespace` of fleet.yaml; a problem if it has no such Cluster
 */
export function ownersCluster<T extends { readonly namespace: string }>(
  found: readonly T[],
  name: string,
  named: string | undefined,
): OwnersCluster<T> {
  const own = named === undefined ? found : found.filter(({ namespace }) => namespace === named);
  const [cluster, second] = own;
  if (cluster === undefined) return named === undefined ? { kind: 'none' } : notThere(name, named);
  if (second === undefined) return { kind: 'one', cluster };
  return {
    kind: 'contested',
    clusters: own,
    problem: {
      kind: 'ambiguous',
      object: `Cluster ${printable(name)} of EKS Anywhere`,
      message: `more than one has this name, in the namespaces ${namespacesOf(own)}, and fleet.yaml does not say which one is the owner's`,
      remedy: `${NAME_IT}, and deploy; find out who made any other.`,
    },
  };
}

function notThere(name: string, named: string): OwnersCluster<never> {
  return {
    kind: 'none',
    problem: {
      kind: 'missing',
      object: `Cluster ${printable(named)}/${printable(name)} of EKS Anywhere`,
      message: 'fleet.yaml names this namespace, and no such Cluster is in it',
      remedy: `Correct it: kubectl get clusters.anywhere.eks.amazonaws.com -A shows the namespaces. ${NAME_IT}, and deploy.`,
    },
  };
}

/** The beginning of the remedy. */
export const NAME_IT =
  "Write the namespace of the owner's Cluster of EKS Anywhere into fleet.yaml: eksAnywhereNamespace of its entry, or workloadClusters.eksAnywhereNamespaces where the cluster is found";

/** `default, tenant-x` */
export function namespacesOf(clusters: readonly { readonly namespace: string }[]): string {
  return firstOf(clusters.map(({ namespace }) => printable(namespace)).toSorted(compare), 5);
}

/**
 * Which of several counts while the owner's is unknown: the oldest one, so that a later one neither lifts its ban nor
 * bans anything. The opt-in check ignores its `auto`. The API server writes the time in seconds: within one second, one
 * that bans. Pure.
 */
export function firstMade(clusters: readonly SeenEksAnywhere[]): SeenEksAnywhere | undefined {
  const [first] = clusters.toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0) || forbids(b) - forbids(a));
  return first && { ...first, contested: clusters.map(({ namespace }) => namespace) };
}

function forbids({ mode }: SeenEksAnywhere): number {
  return Number(mode !== undefined && mode !== OPT_IN);
}
