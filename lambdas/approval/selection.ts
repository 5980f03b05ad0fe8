import type { ApprovalPolicy } from './policy.ts';
import type { ClusterContext } from './request.ts';

/** Whether a policy is for a cluster: its provider is listed and one of the globs matches its name. */
export function isFor(
  policy: Pick<ApprovalPolicy, 'providers' | 'clusters'>,
  cluster: Pick<ClusterContext, 'name' | 'provider'>,
): boolean {
  return policy.providers.includes(cluster.provider) && policy.clusters.some((glob) => matchesGlob(glob, cluster.name));
}

/** `*` stands for any run of characters, nothing else is special. */
function matchesGlob(glob: string, name: string): boolean {
  if (glob === '*') return true;
  const pattern = glob.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${pattern.join('.*')}$`).test(name);
}
