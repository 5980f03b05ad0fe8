import type { FleetIndex } from '../contracts/fleet-index.ts';
import { boundedProblem, type Problem } from '../contracts/problem.ts';
import type { RegisteredCluster } from '../contracts/registry.ts';
import { entryOf } from '../tables/keys.ts';

const SHOWN = 5;

/**
 * Clusters whose writes are held because another one has the same API server: either one cluster is known twice, or one
 * is reached with the credentials of the other, and evidence about the wrong cluster would prove names.
 *
 * A kubeconfig kept by a management cluster is only its claim. Against a cluster named by EKS or the owner of the
 * fleet, it holds only the writes of its own cluster: otherwise an administrator of a management cluster could stop any
 * other cluster.
 *
 * @param clusters that are swept and not missing: a missing cluster proves nothing about others
 * @returns by id, one problem for each cluster whose writes are held
 */
export function sameServer(
  clusters: readonly RegisteredCluster[],
  index: FleetIndex | undefined,
): ReadonlyMap<string, Problem> {
  const behind = Map.groupBy(clusters, ({ id }) => entryOf(index?.clusters, id)?.server);
  behind.delete(undefined);
  return new Map(
    [...behind].flatMap(([server = '', sharing]) => {
      if (sharing.length < 2) return [];
      const vouched = sharing.filter((cluster) => !isHearsay(cluster));
      const held = vouched.length === 1 ? sharing.filter(isHearsay) : sharing;
      return held.map(({ id }) => [id, problemOf(id, server, sharing)] as const);
    }),
  );
}

function isHearsay({ target }: RegisteredCluster): boolean {
  return target?.access.kind === 'cluster-api';
}

function problemOf(id: string, server: string, sharing: readonly RegisteredCluster[]): Problem {
  const others = sharing.filter((other) => other.id !== id).map((other) => other.id);
  const more = others.length > SHOWN ? ` and ${others.length - SHOWN} more` : '';
  // Its message travels in an order.
  return boundedProblem({
    kind: 'same-server',
    object: `cluster ${id}`,
    message: `it is behind the same API server ${server} as ${others.slice(0, SHOWN).join(', ')}${more}, so nothing is written to it`,
    remedy:
      'If they are one cluster, keep one of them in fleet.yaml and exclude the other; if not, fix the kubeconfig that leads to the wrong one.',
  });
}
