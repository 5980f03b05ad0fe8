import type { V1Secret } from '@kubernetes/client-node';
import { raw, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { CLUSTER_NAME } from './cluster-api.ts';
import { KubernetesError } from './errors.ts';
import { namespacePath } from './namespace-path.ts';

/** etcd accepts Secrets of 1 MiB; base64 and metadata add to it. */
const MAX_SECRET_BYTES = 2 * 1024 * 1024;

/**
 * The kubeconfig that Cluster API stores for a workload cluster in its management cluster: `value` of the Secret
 * `<cluster>-kubeconfig`. It has administrator rights.
 *
 * Source: Cluster API, util/secret.
 *
 * @throws KubernetesError; it contains nothing from the Secret
 */
export async function readClusterApiKubeconfig(
  client: KubernetesClient,
  { namespace, name, signal }: { readonly namespace: string; readonly name: string; readonly signal: AbortSignal },
): Promise<string> {
  const object = `get the kubeconfig Secret of a workload cluster on ${client.server}`;
  if (!CLUSTER_NAME.test(name)) {
    throw new KubernetesError({
      kind: 'invalid',
      object,
      problem: 'no Cluster can have this name',
      remedy: 'kubectl get clusters.cluster.x-k8s.io -A lists the names.',
    });
  }
  const path = `/api/v1/${namespacePath(namespace, object)}/secrets/${name}-kubeconfig`;
  const secret = await client.request({ method: 'GET', path, signal, maxResponseBytes: MAX_SECRET_BYTES });
  const value = text(raw<V1Secret>(secret), 'data', 'value');
  if (value !== undefined && /^[A-Za-z0-9+/]+={0,2}$/.test(value)) return Buffer.from(value, 'base64').toString('utf8');
  throw new KubernetesError({
    kind: 'invalid',
    object: `Secret ${namespace}/${name}-kubeconfig on ${client.server}`,
    problem: 'it holds no kubeconfig under the key value',
    remedy: 'Cluster API writes it again when the Secret is deleted and its controllers run.',
  });
}
