import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { servedVersions } from './served-versions.ts';

/** Valid Cluster names: a DNS label, in which older versions of Cluster API allow dots. */
export const CLUSTER_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,61}[a-z0-9])?$/;

/** A valid label value, and so safe in a selector: it cannot end one requirement and start another. */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Groups of Cluster API; each has its own provider, which can be older or newer than the others. */
export type ClusterApiGroup = 'cluster.x-k8s.io' | 'bootstrap.cluster.x-k8s.io' | 'controlplane.cluster.x-k8s.io';

/** Supported versions, the preferred one first. */
const VERSIONS = ['v1beta2', 'v1beta1'] as const;
export type ClusterApiVersion = (typeof VERSIONS)[number];

const served = new WeakMap<KubernetesClient, Map<ClusterApiGroup, Promise<ClusterApiVersion>>>();

/**
 * Path of a group with the version that the server offers: v1beta2, else v1beta1. Read once per client.
 *
 * @throws KubernetesError; `not-found` if the server does not serve the group
 */
export async function clusterApiPath(
  client: KubernetesClient,
  signal: AbortSignal,
  group: ClusterApiGroup = 'cluster.x-k8s.io',
): Promise<string> {
  return `/apis/${group}/${await clusterApiVersion(client, signal, group)}`;
}

/**
 * The version of a group in {@link clusterApiPath}.
 *
 * @throws KubernetesError as {@link clusterApiPath}
 */
export async function clusterApiVersion(
  client: KubernetesClient,
  signal: AbortSignal,
  group: ClusterApiGroup,
): Promise<ClusterApiVersion> {
  const known = served.get(client) ?? new Map<ClusterApiGroup, Promise<ClusterApiVersion>>();
  served.set(client, known);
  let version = known.get(group);
  if (version === undefined) {
    version = discover(client, signal, group);
    known.set(group, version);
    version.catch(() => known.delete(group));
  }
  return version;
}

/**
 * Selects the objects of one Cluster.
 *
 * @param object the call, for the error
 * @throws KubernetesError of kind `invalid` if the name is not a valid label value
 */
export function clusterSelector(clusterName: string, object: string): string {
  return selector('cluster.x-k8s.io/cluster-name', clusterName, object);
}

/** The same for the etcd of one Cluster, an EtcdadmCluster; includes Machines that it no longer owns. */
export function etcdSelector(etcdCluster: string, object: string): string {
  return selector('cluster.x-k8s.io/etcd-cluster', etcdCluster, object);
}

function selector(label: string, value: string, object: string): string {
  if (LABEL_VALUE.test(value)) return `${label}=${value}`;
  throw new KubernetesError({
    kind: 'invalid',
    object,
    problem: 'the name of the cluster cannot be the value of a label',
    remedy: 'Use the name of its Cluster API object: kubectl get clusters.cluster.x-k8s.io -A.',
  });
}

/**
 * Rejects an invalid Cluster name before it gets into a selector.
 *
 * @param object the call, for the error
 * @param resource for the kubectl command that lists the names
 * @throws KubernetesError of kind `invalid`
 */
export function requireClusterName(clusterName: string, object: string, resource = 'clusters.cluster.x-k8s.io'): void {
  if (CLUSTER_NAME.test(clusterName)) return;
  throw new KubernetesError({
    kind: 'invalid',
    object,
    problem: 'no Cluster can have this name',
    remedy: `kubectl get ${resource} -A lists the names.`,
  });
}

async function discover(
  client: KubernetesClient,
  signal: AbortSignal,
  name: ClusterApiGroup,
): Promise<ClusterApiVersion> {
  let offered: readonly string[];
  try {
    offered = await servedVersions(client, name, signal);
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
    throw new KubernetesError({
      kind: 'not-found',
      object: error.object,
      status: 404,
      problem: `this API server does not serve ${name}, so it has no ${KINDS[name]}`,
      remedy:
        'An EKS cluster: add --provider eks. EKS Anywhere: name its management cluster, with --management-kubeconfig or --management-context on the command line or managementKubeconfigSecret in fleet.yaml; if you did, that is another cluster, or Cluster API is not installed there.',
    });
  }
  const version = VERSIONS.find((candidate) => offered.includes(candidate));
  if (version) return version;
  throw new KubernetesError({
    kind: 'invalid',
    object: `get /apis/${name} on ${client.server}`,
    problem: `${name} is not served in any of the versions ${VERSIONS.join(', ')}`,
    remedy:
      'Upgrade the older of the two: this certmarshal reads v1beta1 (since Cluster API 1.0) and v1beta2, and no newer version.',
  });
}

const KINDS: Readonly<Record<ClusterApiGroup, string>> = {
  'cluster.x-k8s.io': 'Machines',
  'bootstrap.cluster.x-k8s.io': 'KubeadmConfigs',
  'controlplane.cluster.x-k8s.io': 'KubeadmControlPlanes',
};
