import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';

/** A kubelet with 250 Pods has a few hundred KB. */
const MAX_METRICS_BYTES = 8 * 1024 * 1024;

/**
 * The metrics of one kubelet, through the API server, in the text format of Prometheus.
 *
 * @throws KubernetesError
 */
export async function readKubeletMetrics(
  client: KubernetesClient,
  { node, signal }: { readonly node: string; readonly signal: AbortSignal },
): Promise<string> {
  const invalid = (problem: string, remedy: string): KubernetesError =>
    new KubernetesError({
      kind: 'invalid',
      object: `get the metrics of a kubelet on ${client.server}`,
      problem,
      remedy,
    });
  if (!NODE_NAME.test(node)) throw invalid('no Node can have this name', 'kubectl get nodes lists the names.');
  if (client.requestText === undefined) throw invalid('this client reads no text', 'Audit the cluster directly.');
  const path = `/api/v1/nodes/${node}/proxy/metrics`;
  return client.requestText({ method: 'GET', path, signal, maxResponseBytes: MAX_METRICS_BYTES });
}

/** A Node name is a DNS subdomain (RFC 1123). */
const NODE_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
