import { boundedProblem, type Problem } from '../contracts/problem.ts';
import type { RegisteredCluster } from '../contracts/registry.ts';
import type { Target } from '../contracts/target.ts';

const SHOWN = 5;

/**
 * Clusters that accept the same token: it contains the Region and the cluster name of aws-iam-authenticator, for EKS
 * the cluster's name, but no account. Writes continue: tokens are sent only to hosts of EKS, whose API servers AWS
 * runs. Pure.
 *
 * @returns one problem for each shared token
 */
export function sharedTokens(clusters: readonly RegisteredCluster[]): readonly Problem[] {
  const byToken = Map.groupBy(clusters, ({ target }) => target && tokenOf(target));
  byToken.delete(undefined);
  return [...byToken].flatMap(([token = '', [first, ...others]]) => {
    if (first === undefined || others.length === 0) return [];
    const more = others.length > SHOWN ? ` and ${others.length - SHOWN} more` : '';
    return boundedProblem({
      kind: SHARED_TOKEN,
      object: `cluster ${first.id}`,
      message: `a token for it is valid for ${others
        .slice(0, SHOWN)
        .map(({ id }) => id)
        .join(', ')}${more} too: it says ${token} and no account`,
      remedy:
        'Nothing to do if those who control one of them may control the others. Otherwise give one of them a name of its own, or watch its account from a hub of its own.',
    });
  });
}

export const SHARED_TOKEN = 'shared-token';

/** Undefined if certmarshal does not sign its token. */
function tokenOf({ cluster, access }: Target): string | undefined {
  if (access.kind === 'eks') return `${cluster.name} in ${access.scope.region}`;
  if (access.kind !== 'kubeconfig' || access.authenticatorId === undefined) return undefined;
  return `${access.authenticatorId} in ${access.secret.split(':')[3]}`;
}
