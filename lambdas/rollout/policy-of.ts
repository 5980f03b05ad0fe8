import { matchesGlob } from '../approval/selection.ts';
import type { Target } from '../contracts/target.ts';
import type { RolloutPolicy } from './policy.ts';

/** The first policy that names a cluster by its id; undefined where its fleet agrees to nothing. Its name does not count: anyone who makes a cluster gives it one. Pure. */
export function rolloutPolicyOf(
  policies: readonly RolloutPolicy[],
  { id }: Pick<Target, 'id'>,
): RolloutPolicy | undefined {
  return policies.find(({ clusters }) => clusters.some((glob) => matchesId(glob, id)));
}

/** Part by part, so that `*` never stands for a slash: anyone who names a cluster, or its namespace, chooses no other part. A `*` alone is every cluster. Pure. */
export function matchesId(glob: string, id: string): boolean {
  if (glob === '*') return true;
  const [globs, parts] = [glob.split('/'), id.split('/')];
  return globs.length === parts.length && globs.every((one, at) => matchesGlob(one, parts[at] ?? ''));
}
