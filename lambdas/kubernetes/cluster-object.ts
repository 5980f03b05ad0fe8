import { type Cluster, readCluster } from '../resources/cluster.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { listKind } from './list.ts';
import type { MachineSelection } from './machines.ts';

/**
 * The Cluster of this name; with one LIST.
 *
 * @throws KubernetesError also if it does not exist
 */
export async function readClusterObject(client: KubernetesClient, selection: MachineSelection): Promise<Cluster> {
  for await (const [object] of listKind(client, 'clusters', selection)) {
    const cluster = readCluster(object);
    if (cluster !== undefined) return cluster;
  }
  throw new KubernetesError({
    kind: 'not-found',
    object: `list clusters on ${client.server}`,
    problem: `there is no Cluster called ${selection.clusterName} in namespace ${selection.namespace}`,
    remedy: 'Give the name and the namespace of its Cluster: kubectl get clusters.cluster.x-k8s.io -A.',
  });
}
