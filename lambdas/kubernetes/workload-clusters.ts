import { isIP } from 'node:net';
import type { KubernetesClient } from './client.ts';
import { CLUSTER_NAME, clusterApiPath } from './cluster-api.ts';
import { describeCall } from './describe-call.ts';
import { KubernetesError } from './errors.ts';
import { isJsonObject } from './json.ts';
import { NAMESPACE } from './namespace-path.ts';
import { listPages } from './paging.ts';

/** Far above what one management cluster is known to carry. */
const MAX_CLUSTERS = 1_000;
/** One for each IP family is ordinary. */
const MAX_SERVICE_CIDRS = 16;

/** A `Cluster` of Cluster API. */
export interface WorkloadClusterObject {
  readonly namespace: string;
  readonly name: string;
  /** `spec.clusterNetwork.services.cidrBlocks`; absent when it has none, or one that is no CIDR. */
  readonly serviceCidrs?: readonly string[];
}

/**
 * The Cluster API Clusters of a management cluster, all namespaces. A few hundred bytes of each are kept.
 *
 * @throws KubernetesError; `not-found` when the server does not serve Cluster API, `too-large` for over 1,000 of them
 */
export async function listWorkloadClusters(
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<readonly WorkloadClusterObject[]> {
  const path = `${await clusterApiPath(client, signal)}/clusters`;
  const found: WorkloadClusterObject[] = [];
  for await (const page of listPages(client, { path, signal, maxItems: MAX_CLUSTERS })) {
    for (const item of page) {
      const cluster = clusterOf(item);
      if (cluster === undefined) {
        throw new KubernetesError({
          kind: 'not-kubernetes',
          object: describeCall('GET', path, client.server),
          problem: 'a Cluster in the list has no name that a Cluster can have',
          remedy: 'Check that the server is an API server: kubectl get clusters.cluster.x-k8s.io -A shows the list.',
        });
      }
      found.push(cluster);
    }
  }
  return found;
}

function clusterOf(item: unknown): WorkloadClusterObject | undefined {
  if (!isJsonObject(item) || !isJsonObject(item['metadata'])) return undefined;
  const { namespace, name } = item['metadata'];
  if (typeof namespace !== 'string' || !NAMESPACE.test(namespace)) return undefined;
  if (typeof name !== 'string' || !CLUSTER_NAME.test(name)) return undefined;
  const serviceCidrs = cidrsOf(item['spec']);
  return { namespace, name, ...(serviceCidrs === undefined ? {} : { serviceCidrs }) };
}

function cidrsOf(spec: unknown): readonly string[] | undefined {
  const network = isJsonObject(spec) ? spec['clusterNetwork'] : undefined;
  const services = isJsonObject(network) ? network['services'] : undefined;
  const blocks: unknown = isJsonObject(services) ? services['cidrBlocks'] : undefined;
  if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > MAX_SERVICE_CIDRS) return undefined;
  return blocks.every(isCidr) ? blocks : undefined;
}

function isCidr(block: unknown): block is string {
  if (typeof block !== 'string' || block.length > 50) return false;
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(block) ?? [];
  const family = isIP(address);
  return family !== 0 && !address.includes('%') && Number(prefix) <= (family === 4 ? 32 : 128);
}
