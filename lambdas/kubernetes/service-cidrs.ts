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
  const read: ReturnType<typeof cidrsAt>[] = [];
  try {
    for await (const page of listKind(client, 'servicecidrs', { signal })) {
      read.push(...page.map((item) => cidrsAt(item, 'spec', 'cidrs')));
      if (read.length > MAX_CIDRS) break;
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return error.kind === 'not-found' ? [] : error;
  }
  const cidrs = read.flatMap((one) => one);
  if (Math.max(read.length, cidrs.length) <= MAX_CIDRS && !read.includes('unusable')) return cidrs;
  return new KubernetesError({
    kind: 'invalid',
    object: `list servicecidrs on ${client.server}`,
    problem: `spec.cidrs of all of them are not a list of at most ${MAX_CIDRS} CIDRs`,
    remedy: 'Delete ServiceCIDRs without a Service: kubectl get servicecidrs.',
  });
}
