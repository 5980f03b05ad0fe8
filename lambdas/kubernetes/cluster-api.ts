import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** What a Cluster can be called: a DNS label, in which older versions of Cluster API allow dots. */
export const CLUSTER_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,61}[a-z0-9])?$/;

const GROUP_PATH = '/apis/cluster.x-k8s.io';

/** Versions whose Cluster and Machine are understood, the one to prefer first. */
const VERSIONS = ['v1beta2', 'v1beta1'] as const;
type Version = (typeof VERSIONS)[number];

const served = new WeakMap<KubernetesClient, Version>();

/**
 * Path of the group and the version of Cluster API that the server offers: v1beta2, else v1beta1. Asked for once a client.
 *
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API
 */
export async function clusterApiPath(client: KubernetesClient, signal: AbortSignal): Promise<string> {
  const version = served.get(client) ?? (await discover(client, signal));
  served.set(client, version);
  return `${GROUP_PATH}/${version}`;
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
