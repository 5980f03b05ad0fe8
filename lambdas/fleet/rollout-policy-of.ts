import { matchesGlob } from '../approval/selection.ts';
import type { RolloutPolicy } from '../rollout/policy.ts';
import type { Target } from './target.ts';

/** The first policy that names a cluster by id or name; undefined where its fleet agrees to nothing. Pure. */
export function rolloutPolicyOf(
  policies: readonly RolloutPolicy[],
  { id, cluster: { name } }: Pick<Target, 'id' | 'cluster'>,
): RolloutPolicy | undefined {
  return policies.find(({ clusters }) => clusters.some((glob) => matchesGlob(glob, id) || matchesGlob(glob, name)));
}
