import { MAX_CIDRS } from '../identifiers.ts';
import { cidrsAt } from '../resources/cluster.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError } from './errors.ts';
import { listKind } from './list.ts';

/** The CIDRs of the ServiceCIDRs of a cluster, or why they cannot be read; none before Kubernetes 1.33. */
export async function readServiceCidrs(
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<readonly string[] | KubernetesError> {
  const cidrs: string[] = [];
  let count = 0;
  try {
    for await (const page of listKind(client, 'servicecidrs', { signal }))
      for (const item of page) {
        const own = cidrsAt(item, 'spec', 'cidrs');
        count += Math.max(1, own.length);
        if (own === 'unusable' || count > MAX_CIDRS) return unusable(client.server);
        cidrs.push(...own);
      }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return error.kind === 'not-found' ? [] : error;
  }
  return cidrs;
}

function unusable(server: string): KubernetesError {
  return new KubernetesError({
    kind: 'invalid',
    object: `list servicecidrs on ${server}`,
    problem: `spec.cidrs of all of them are not a list of at most ${MAX_CIDRS} CIDRs`,
    remedy: 'Delete ServiceCIDRs without a Service: kubectl get servicecidrs.',
  });
}
