import { matchesGlob } from '../approval/selection.ts';
import type { Target } from '../contracts/target.ts';
import type { RolloutPolicy } from './policy.ts';

/**
 * The first policy that selects a cluster by id; undefined if the fleet allows nothing. Names do not count: a cluster's
 * creator chooses its name. Pure.
 */
export function rolloutPolicyOf(
  policies: readonly RolloutPolicy[],
  { id }: Pick<Target, 'id'>,
): RolloutPolicy | undefined {
  return policies.find(({ clusters }) => clusters.some((glob) => matchesId(glob, id)));
}

/**
 * Matches part by part, so that `*` never matches a slash: who names a cluster or its namespace controls no other part.
 * A single `*` is every cluster. Pure.
 */
export function matchesId(glob: string, id: string): boolean {
  if (glob === '*') return true;
  const [globs, parts] = [glob.split('/'), id.split('/')];
  return globs.length === parts.length && globs.every((one, at) => matchesGlob(one, parts[at] ?? ''));
}
