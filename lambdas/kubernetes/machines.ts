import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { listPages } from './paging.ts';

const GROUP_PATH = '/apis/cluster.x-k8s.io';

/** Versions whose Machine is understood, the one to prefer first. */
const VERSIONS = ['v1beta2', 'v1beta1'] as const;
type Version = (typeof VERSIONS)[number];

/** A value that a label can have, and so a selector can ask for: nothing in it ends one requirement and starts another. */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

const served = new WeakMap<KubernetesClient, Version>();

/**
 * The Cluster API Machines of one cluster, from its management cluster, all namespaces, page by page. The version that
 * the server offers is asked for once a client: v1beta2, else v1beta1.
 *
 * @param clusterName value of the label `cluster.x-k8s.io/cluster-name`.
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API.
 */
export async function* listMachines(
  client: KubernetesClient,
  { clusterName, signal }: { readonly clusterName: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly unknown[]> {
  if (!LABEL_VALUE.test(clusterName)) {
    throw new KubernetesError({
      kind: 'invalid',
      object: `list machines on ${client.server}`,
      problem: 'the name of the cluster cannot be the value of a label',
      remedy: 'Name the cluster as its Cluster API object is named: kubectl get clusters.cluster.x-k8s.io -A.',
    });
  }
  const version = await servedVersion(client, signal);
  yield* listPages(client, {
    path: `${GROUP_PATH}/${version}/machines`,
    labelSelector: `cluster.x-k8s.io/cluster-name=${clusterName}`,
    signal,
  });
}

async function servedVersion(client: KubernetesClient, signal: AbortSignal): Promise<Version> {
  const version = served.get(client) ?? (await discover(client, signal));
  served.set(client, version);
  return version;
}

async function discover(client: KubernetesClient, signal: AbortSignal): Promise<Version> {
  let group: JsonObject;
  try {
    group = await client.request({ method: 'GET', path: GROUP_PATH, signal });
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.kind !== 'not-found') throw error;
    throw new KubernetesError({
      kind: 'not-found',
      object: error.object,
      status: 404,
      problem: 'this API server serves no cluster.x-k8s.io, so Machines cannot be here',
      remedy:
        'Name the management cluster, with --management-kubeconfig on the command line or managementKubeconfigSecret in fleet.yaml; if this is the one you named, its kubeconfig leads elsewhere or Cluster API is not installed there.',
    });
  }
  const versions = Array.isArray(group['versions']) ? group['versions'] : [];
  const offered = new Set(versions.map((entry: unknown) => (isJsonObject(entry) ? entry['version'] : undefined)));
  const version = VERSIONS.find((candidate) => offered.has(candidate));
  if (version) return version;
  throw new KubernetesError({
    kind: 'not-found',
    object: `get ${GROUP_PATH} on ${client.server}`,
    problem: `cluster.x-k8s.io is served in none of the versions ${VERSIONS.join(', ')}`,
    remedy: 'Upgrade Cluster API: certmarshal reads v1beta1 (since 1.0) and v1beta2.',
  });
}
